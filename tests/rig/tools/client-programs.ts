import { mkdirSync, writeFileSync } from "node:fs";
import { join } from "node:path";

/** What configures the network of a Linux computer. With `dhclient`, the kernel itself handles router advertisements. */
export const CLIENT_KINDS = ["NetworkManager", "systemd-networkd", "dhclient"] as const;
export type ClientKind = (typeof CLIENT_KINDS)[number];

/** Programs that would configure this machine's network, or run as a service, if they were installed; scripts/test unpacks them here. */
export const UNPACKED = join(import.meta.dir, "../../../.tools/debian");

/** Of the programs. */
export const CLIENT_ENVIRONMENT = {
  PATH: `${UNPACKED}/usr/sbin:${UNPACKED}/sbin:${UNPACKED}/usr/bin:/usr/sbin:/usr/bin:/sbin:/bin`,
  LD_LIBRARY_PATH: libraries(),
  SYSTEMD_LOG_TARGET: "console",
};

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
      -sf "$(command -v dhclient-script)" lan0`,
};

/**
 * What the programs would find or change on this machine is hidden, in a mount namespace of their own. A /sys that is
 * read-only tells them that there is no udev to wait for.
 */
const PREPARE = `[ "$(readlink /proc/self/ns/mnt)" != "$machine" ] || exit 1
  hostname $name
  cp -a ${ETC.map((name) => `/etc/${name}`).join(" ")} $files/etc
  mount -o remount,bind,ro /sys
  mount --bind $files/etc /etc
  for folder in /run /var/lib; do mount -t tmpfs tmpfs $folder; done`;

/** The shell's script that starts a computer's programs; it does nothing in the mount namespace `machine`. */
export function clientScript(
  kind: ClientKind,
  { name, files, machine }: { name: string; files: string; machine: string },
): string {
  return `set -e\nmachine='${machine}' name=${name} files=${files}\n${PREPARE}\n${START[kind]}`;
}

export function writeClientFiles(folder: string, name: string): void {
  mkdirSync(join(folder, "etc"), { recursive: true, mode: 0o755 });
  const texts = {
    "nm.conf": NETWORK_MANAGER,
    "home.nmconnection": CONNECTION,
    "lan.network": NETWORKD,
    "dhclient.conf": DHCLIENT,
    "bus.conf": BUS,
    "etc/resolv.conf": "",
    "etc/fstab": "",
    "etc/hostname": `${name}\n`,
    "etc/machine-id": `${crypto.randomUUID().replaceAll("-", "")}\n`,
  };
  for (const [file, text] of Object.entries(texts)) writeFileSync(join(folder, file), text);
}

function libraries(): string {
  const folders = ["usr/lib", "lib"].map((folder) => new Bun.Glob(`${folder}/*-linux-gnu*`));
  return folders
    .flatMap((each) => [...each.scanSync({ cwd: UNPACKED, onlyFiles: false, absolute: true })])
    .join(":");
}
