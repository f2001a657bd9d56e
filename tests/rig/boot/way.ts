import { version } from "../../../package.json";

/** A way to install the gateway: shell lines for root on the machine. */
export interface Way {
  /** Brings the program onto the machine. */
  bring: string;
  /** What makes the machine a gateway; options follow. */
  arm: string;
  /** A line of its dry run. */
  plans: string;
  /** Replaces the program by a newer one. */
  upgrade: string;
  /** Fails unless the newer one is installed. */
  upgraded: string;
  /** Removes everything. */
  remove: string;
}

/** Versions of the package. */
export const OLDER = version;
export const NEWER = "99.0.0";
/** Its service does not answer. */
export const BROKEN = "99.1.0";

/** The newer release, which the lab's internet serves, and what updates to it. */
export const RELEASE = "https://internet.test/";
export const UPDATE = "NODE_EXTRA_CA_CERTS=/root/certificate.pem portcullis update";

/** Programs, packages and the certificate of the release's server are in root's home. */
export const WAYS = {
  hand: {
    bring: "test -x /root/portcullis",
    arm: "/root/portcullis install",
    plans: "write /etc/systemd/system/portcullis-killswitch.service (mode 644)",
    upgrade: "echo >>/root/portcullis && /root/portcullis install --log-level debug --yes",
    upgraded: "cmp /root/portcullis /usr/local/bin/portcullis",
    remove: "portcullis uninstall --yes --remove-state",
  },
  package: {
    bring: `apt-get install -y /root/portcullis_${OLDER}_*.deb`,
    arm: "portcullis setup",
    plans: "run systemctl enable portcullis-killswitch.service",
    upgrade: `${UPDATE} ${RELEASE} --yes`,
    upgraded: `test "$(dpkg-query -Wf '\${Version}' portcullis)" = ${NEWER}`,
    remove: "apt-get purge -y portcullis",
  },
} satisfies Record<string, Way>;
