import {
  closeSync,
  existsSync,
  mkdirSync,
  openSync,
  readFileSync,
  readlinkSync,
  writeFileSync,
} from "node:fs";
import { join } from "node:path";
import type { Lab } from "./lab.ts";

/** What configures the network of a Linux computer. With `dhclient`, the kernel itself handles router advertisements. */
export const CLIENT_KINDS = ["NetworkManager", "systemd-networkd", "dhclient"] as const;
export type ClientKind = (typeof CLIENT_KINDS)[number];

/** Programs that would configure this machine's network if they were installed; scripts/test unpacks them here. */
const UNPACKED = join(import.meta.dir, "../../.tools/debian");

const ENVIRONMENT = {
  PATH: `${UNPACKED}/usr/sbin:${UNPACKED}/sbin:${UNPACKED}/usr/bin:/usr/sbin:/usr/bin:/sbin:/bin`,
  SYSTEMD_LOG_TARGET: "console",
};

/** NetworkManager acts on a lost carrier after 4 s. */
const DISCONNECTED_MS = 6_000;

/** A mount namespace, a host name, and a process namespace whose processes all end with the first. */
const OWN = ["unshare", "--mount", "--uts", "--pid", "--fork", "--kill-child", "--mount-proc"];

/** Files of /etc that the programs need; the rest of this machine's /etc is hidden from them. */
const ETC = ["passwd", "group", "nsswitch.conf", "ld.so.cache", "ld.so.conf", "ld.so.conf.d", "alternatives"];

const NETWORK_MANAGER = `[main]
plugins=keyfile
auth-polkit=false
dhcp=internal
dns=default
rc-manager=file
no-auto-default=*
[keyfile]
path=/run/nm/connections
`;

const CONNECTION = `[connection]
id=home
type=ethernet
interface-name=lan0
[ipv4]
method=auto
[ipv6]
method=auto
addr-gen-mode=eui64
`;

/** As Debian's. */
const DHCLIENT = `option rfc3442-classless-static-routes code 121 = array of unsigned integer 8;
send host-name = gethostname();
request subnet-mask, broadcast-address, time-offset, routers, domain-name, domain-name-servers, domain-search,
  host-name, interface-mtu, rfc3442-classless-static-routes;
`;

const NETWORKD = "[Match]\nName=lan0\n[Network]\nDHCP=yes\nIPv6AcceptRA=yes\n";

/** A bus on which everything is allowed: only one computer's programs reach it. */
const BUS = `<!DOCTYPE busconfig PUBLIC "-//freedesktop//DTD D-Bus Bus Configuration 1.0//EN"
 "http://www.freedesktop.org/standards/dbus/1.0/busconfig.dtd">
<busconfig><type>system</type><listen>unix:path=/run/dbus/system_bus_socket</listen><auth>EXTERNAL</auth>
<policy context="default"><allow user="*"/><allow own="*"/><allow send_type="method_call"/>
<allow send_type="signal"/><allow send_requested_reply="true"/><allow receive_type="*"/></policy></busconfig>
`;

/** Each program in the foreground, in the shell's own place. */
const START: Record<ClientKind, string> = {
  NetworkManager: `mkdir -p /run/dbus /run/nm/connections /run/NetworkManager
    cp $files/home.nmconnection /run/nm/connections; chmod 600 /run/nm/connections/home.nmconnection
    dbus-daemon --config-file=$files/bus.conf --nofork --nopidfile &
    until [ -S /run/dbus/system_bus_socket ]; do sleep 0.05; done
    exec NetworkManager --no-daemon --config $files/nm.conf --config-dir /run/nm/none \
      --system-config-dir /run/nm/none --intern-config /run/nm/intern.conf \
      --state-file /run/nm/state --pid-file /run/nm/pid --log-level=INFO`,
  "systemd-networkd": `mkdir -p /run/systemd/network /run/systemd/netif
    chown systemd-network:systemd-network /run/systemd/netif
    cp $files/lan.network /run/systemd/network; chmod 644 /run/systemd/network/lan.network
    exec /lib/systemd/systemd-networkd`,
  dhclient: `ip link set lan0 up
    exec dhclient -4 -d -cf $files/dhclient.conf -lf /run/dhclient.leases -pf /run/dhclient.pid \
      -sf ${UNPACKED}/sbin/dhclient-script lan0`,
};

/** A computer at home that gets its addresses, routes and resolvers from the network. */
export class HomeClient {
  readonly namespace: string;
  readonly mac: string;
  /** As it tells the DHCP server. */
  readonly name: string;
  private child: Bun.Subprocess | null = null;

  private constructor(
    private readonly lab: Lab,
    readonly kind: ClientKind,
  ) {
    const number = CLIENT_KINDS.indexOf(kind) + 1;
    this.namespace = `${lab.sandbox.id}-c${number}`;
    this.name = `${kind.toLowerCase()}-computer`;
    this.mac = `02:00:00:00:20:0${number}`;
  }

  /** Connects it to a switch of the lab's; it runs nothing yet, and is gone with the lab. */
  static async plugIn(lab: Lab, kind: ClientKind, bridge: "switch" | "home"): Promise<HomeClient> {
    if (!existsSync(UNPACKED)) throw new Error(`there is no ${UNPACKED}: scripts/test makes it`);
    const client = new HomeClient(lab, kind);
    const { namespace, mac, port } = client;
    await batch(lab, [], [`netns add ${namespace}`]);
    await batch(
      lab,
      ["-n", lab.namespaces.switch],
      [
        `link add ${port} type veth peer lan0 netns ${namespace} address ${mac}`,
        `link set dev ${port} master ${bridge} up`,
      ],
    );
    // As on a computer: the namespace of a router may have passed on other settings.
    const settings = ["forwarding=0", "accept_ra=1", "accept_ra_rtr_pref=1", "disable_ipv6=0"];
    const all = settings.flatMap((each) => [`net.ipv6.conf.all.${each}`, `net.ipv6.conf.lan0.${each}`]);
    await lab.exec(namespace, ["sysctl", "-qw", "net.ipv4.ip_forward=0", ...all]);
    await batch(lab, ["-n", namespace], ["link set lo up"]);
    client.writeFiles();
    return client;
  }

  /** Turns it on. */
  start(): void {
    const log = openSync(this.logFile, "a", 0o600);
    const machine = readlinkSync("/proc/self/ns/mnt");
    const script = `set -e\nhostname ${this.name}\nmachine='${machine}' files=${this.files}\n${PREPARE}\n${START[this.kind]}`;
    const own = ["ip", "netns", "exec", this.namespace, ...OWN, "sh", "-c", script];
    this.child = Bun.spawn(own, {
      env: { ...process.env, ...ENVIRONMENT, LD_LIBRARY_PATH: libraries() },
      stdin: "ignore",
      stdout: log,
      stderr: log,
    });
    closeSync(log);
  }

  /** Turns it off: of its network nothing is left. */
  async stop(): Promise<void> {
    this.child?.kill("SIGKILL");
    await this.child?.exited;
    await batch(this.lab, ["-n", this.namespace], ["link set lan0 down", "address flush dev lan0"]);
  }

  /** Connects it again, so that it asks for its lease again. dhclient knows nothing of cables and is restarted. */
  async reconnect(): Promise<void> {
    if (this.kind === "dhclient") {
      await this.stop();
      return this.start();
    }
    await this.cable("down");
    await Bun.sleep(DISCONNECTED_MS);
    await this.cable("up");
  }

  async addresses(): Promise<string[]> {
    const { stdout } = await this.exec("ip", "-j", "address", "show", "dev", "lan0");
    const [{ addr_info = [] } = {}] = JSON.parse(stdout || "[]");
    return addr_info.map(({ local }: { local: string }) => local);
  }

  /** What its programs have been told to use as resolvers. */
  resolvers(): string[] {
    const path =
      this.kind === "systemd-networkd"
        ? `/proc/${this.child?.pid}/root/run/systemd/netif/state`
        : join(this.files, "etc/resolv.conf");
    const text = readFileSync(path, "utf8");
    const lists = text.matchAll(/^(?:nameserver |DNS=)(.*)$/gm);
    return [...lists].flatMap(([, list = ""]) => list.split(" ")).filter((word) => word !== "");
  }

  exec(...argv: string[]) {
    return this.lab.exec(this.namespace, argv);
  }

  log(): string {
    return readFileSync(this.logFile, "utf8");
  }

  private async cable(state: "down" | "up"): Promise<void> {
    await this.lab.exec(this.lab.namespaces.switch, ["ip", "link", "set", "dev", this.port, state]);
  }

  private get port(): string {
    return `c${this.namespace.at(-1)}`;
  }

  private get files(): string {
    return join(this.lab.sandbox.directory, this.kind);
  }

  private get logFile(): string {
    return join(this.files, "log");
  }

  private writeFiles(): void {
    mkdirSync(join(this.files, "etc"), { recursive: true, mode: 0o755 });
    const texts = {
      "nm.conf": NETWORK_MANAGER,
      "home.nmconnection": CONNECTION,
      "lan.network": NETWORKD,
      "dhclient.conf": DHCLIENT,
    };
    for (const [name, text] of Object.entries({
      ...texts,
      "bus.conf": BUS,
      "etc/resolv.conf": "",
      "etc/fstab": "",
      "etc/hostname": `${this.name}\n`,
      "etc/machine-id": `${crypto.randomUUID().replaceAll("-", "")}\n`,
    }))
      writeFileSync(join(this.files, name), text);
  }
}

/**
 * What the programs would find or change on this machine is hidden, in a mount namespace of their own. A /sys that is
 * read-only tells them that there is no udev to wait for.
 */
const PREPARE = `[ "$(readlink /proc/self/ns/mnt)" != "$machine" ] || exit 1
  cp -a ${ETC.map((name) => `/etc/${name}`).join(" ")} $files/etc
  mount -o remount,bind,ro /sys
  mount --bind $files/etc /etc
  for folder in /run /var/lib; do mount -t tmpfs tmpfs $folder; done`;

function libraries(): string {
  return [
    ...new Bun.Glob("usr/lib/*-linux-gnu*").scanSync({ cwd: UNPACKED, onlyFiles: false, absolute: true }),
  ].join(":");
}

async function batch(lab: Lab, where: readonly string[], lines: readonly string[]): Promise<void> {
  const { stderr } = await lab.outside(["ip", ...where, "-batch", "-"], `${lines.join("\n")}\n`);
  if (stderr !== "") throw new Error(stderr);
}
