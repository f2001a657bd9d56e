import { basename, join } from "node:path";
import { DHCP_UNIT } from "../dhcp/files.ts";
import { UNIT_DIGEST } from "../dhcp/unit.ts";
import { BOOT_FILES, BOOT_FOLDER } from "../killswitch/boot-files.ts";
import { TABLE } from "../killswitch/ruleset.ts";
import { CLOCK_UNIT, KILL_SWITCH_UNIT, PATHS, SERVICE_UNIT } from "./paths.ts";
import { RUNTIME } from "./runtime.ts";

/** The text of each unit by its name, for a program at this path. */
export function unitsFor(program: string): Record<string, string> {
  return {
    [KILL_SWITCH_UNIT]: killSwitchUnit(),
    [CLOCK_UNIT]: clockUnit(program),
    [SERVICE_UNIT]: serviceUnit(program),
    [DHCP_UNIT]: dhcpUnit(program),
  };
}

/**
 * The table for a boot whose ruleset file is missing or broken. It lets nothing out, because only the file says which
 * interface is the LAN. Its chains have the names of those in the ruleset that replaces it.
 */
const WITHOUT_FILE = [
  `add table ${TABLE}`,
  ...["output", "forward"].map(
    (hook) => `add chain ${TABLE} ${hook} { type filter hook ${hook} priority filter; policy drop; }`,
  ),
  `add rule ${TABLE} output oifname "lo" accept`,
].join("; ");

/**
 * Puts the kill switch in place before the network is up, with only `nft` and `ip`. Stopping the unit removes nothing.
 */
export function killSwitchUnit(): string {
  const file = (name: string) => join(PATHS.state, BOOT_FOLDER, name);
  return `[Unit]
Description=Portcullis kill switch: nothing leaves outside the tunnel, even before the network is up
DefaultDependencies=no
# The state directory may be on a file system of its own. The two firewall services flush all tables when they start.
After=local-fs.target nftables.service netfilter-persistent.service
# It loads the kernel modules that nft would otherwise wait for.
After=systemd-modules-load.service
Wants=network-pre.target
# On older systems, dhcpcd does not wait for network-pre.target.
Before=network-pre.target networking.service dhcpcd.service

[Service]
Type=oneshot
RemainAfterExit=yes
# Routing comes first: if the kernel refuses the firewall, the list ends there. A rule that exists is not an error.
ExecStart=-/usr/sbin/ip -4 -force -batch ${file(BOOT_FILES.rules4)}
ExecStart=-/usr/sbin/ip -6 -force -batch ${file(BOOT_FILES.rules6)}
# Blocks everything even if the file below is missing or broken.
ExecStart=/usr/sbin/nft '${WITHOUT_FILE}'
ExecStart=/usr/sbin/nft -f ${file(BOOT_FILES.firewall)}
NoNewPrivileges=yes
CapabilityBoundingSet=CAP_NET_ADMIN

[Install]
WantedBy=sysinit.target
`;
}

/** For Debian's own unit, which also flushes all tables when it starts. The kill switch comes after that. */
export const NFTABLES_DROP_IN = `# By default, this unit flushes all tables when it stops, the kill switch's too. At a shutdown, links may still be up.
[Service]
ExecStop=
`;

/** Only this unit may set the clock; it does so before the service dials a server. */
export function clockUnit(program: string): string {
  return `[Unit]
Description=Portcullis clock: not earlier than when the tunnel was last up, because servers refuse handshakes from the past
DefaultDependencies=no
# The state directory may be on a file system of its own.
After=local-fs.target
Wants=time-set.target
Before=time-set.target

[Service]
Type=oneshot
RemainAfterExit=yes
ExecStart=${program} restore-clock ${PATHS.state}
UMask=0077
LimitCORE=0

CapabilityBoundingSet=CAP_SYS_TIME
NoNewPrivileges=yes
ProtectSystem=strict
# The dash: before the first start there is no such folder.
ReadWritePaths=-${PATHS.state}
ProtectHome=yes
PrivateNetwork=yes
PrivateDevices=yes
ProtectControlGroups=yes
ProtectHostname=yes
ProtectKernelLogs=yes
ProtectKernelModules=yes
ProtectKernelTunables=yes
ProtectProc=invisible
KeyringMode=private
LockPersonality=yes
RestrictAddressFamilies=AF_UNIX
RestrictNamespaces=yes
RestrictRealtime=yes
RestrictSUIDSGID=yes
SystemCallArchitectures=native
SystemCallFilter=@system-service @clock
SystemCallFilter=~@resources @keyring
SystemCallErrorNumber=EPERM

[Install]
WantedBy=sysinit.target
`;
}

/** The service, confined to the rights that it needs. */
export function serviceUnit(program: string): string {
  return `[Unit]
Description=Portcullis, a WireGuard VPN gateway with a kill switch
Wants=${KILL_SWITCH_UNIT} ${CLOCK_UNIT}
After=${KILL_SWITCH_UNIT} ${CLOCK_UNIT} network-pre.target
StartLimitIntervalSec=0

[Service]
Type=notify
# A busy Pi needs many seconds; the kill switch is in place meanwhile.
TimeoutStartSec=300
${Object.entries(RUNTIME)
  .map(([name, value]) => `Environment=${name}=${value}`)
  .join("\n")}
EnvironmentFile=${PATHS.environment}
ExecStart=${program} serve
Restart=always
RestartSec=1
# Restarting does not help if the settings are wrong, or the database is of a newer version. The kill switch is in place.
RestartPreventExitStatus=2 78
WatchdogSec=120
# The service has some 100 MiB. If it takes this much, it alone is ended and starts again: the kill switch and the tunnel stay.
MemoryMax=512M
OOMPolicy=continue
# If the machine has no memory left, whatever took it is ended, not the home's way to the internet.
OOMScoreAdjust=-500
# If the kernel has no WireGuard, a userspace program carries the tunnel and must survive restarts of the service.
KillMode=process
StateDirectory=portcullis
StateDirectoryMode=0700
# For the DHCP server, which may not read the state.
CacheDirectory=portcullis
CacheDirectoryMode=0755
# For the socket of that program.
RuntimeDirectory=wireguard
RuntimeDirectoryMode=0700
RuntimeDirectoryPreserve=yes
UMask=0077
# A core dump would contain private keys.
LimitCORE=0

# CAP_NET_BIND_SERVICE is for ports below 1024, which the operator may choose at any time. CAP_NET_RAW and AF_PACKET are
# for other routers of the LAN: what they tell devices is heard, even with IPv6 turned off here.
CapabilityBoundingSet=CAP_NET_ADMIN CAP_NET_BIND_SERVICE CAP_NET_RAW
NoNewPrivileges=yes
ProtectSystem=strict
ProtectHome=yes
PrivateTmp=yes
PrivateMounts=yes
DevicePolicy=closed
DeviceAllow=/dev/net/tun rw
ProtectClock=yes
ProtectControlGroups=yes
ProtectHostname=yes
ProtectKernelLogs=yes
# The kernel itself loads the modules that nft and ip need.
ProtectKernelModules=yes
ProtectProc=invisible
RemoveIPC=yes
KeyringMode=private
LockPersonality=yes
RestrictAddressFamilies=AF_UNIX AF_INET AF_INET6 AF_NETLINK AF_PACKET
RestrictNamespaces=yes
RestrictRealtime=yes
RestrictSUIDSGID=yes
SystemCallArchitectures=native
SystemCallFilter=@system-service
SystemCallFilter=~@privileged @resources @keyring
# setpriv needs it, which makes the programs that report the kernel's changes end with the service. It gives no capability.
SystemCallFilter=capset
SystemCallErrorNumber=EPERM
# Not ProtectKernelTunables: the service sets ip_forward and other sysctls. Not MemoryDenyWriteExecute: JavaScript is
# compiled at run time.

[Install]
WantedBy=multi-user.target
`;
}

/**
 * The LAN's DHCP server. It is a separate unit, so that it continues while the service is down or upgraded. It starts
 * only when no other server answers on the LAN. Until then systemd starts it again.
 */
export function dhcpUnit(program: string): string {
  const settings = dhcpUnitText(program, "").replace(/^#.*\n/gm, "");
  return dhcpUnitText(program, new Bun.CryptoHasher("sha256").update(settings).digest("hex"));
}

function dhcpUnitText(program: string, digest: string): string {
  return `[Unit]
Description=Portcullis DHCP: the addresses of the LAN's devices, with the gateway as router and resolver
Wants=${KILL_SWITCH_UNIT}
# Network managers set the LAN's address, and may remove those of others when they start.
After=${KILL_SWITCH_UNIT} network.target
StartLimitIntervalSec=0

[Service]
Type=exec
# As root: it looks for other DHCP servers, gives the LAN's interfaces their IPv6 addresses, and writes a new configuration
# if the LAN has changed. It fails when a person or the boot starts it too early, and waits when systemd starts it again.
ExecStartPre=+${program} dhcp-ready
# Of this unit without its comments: setup restarts the server if that was started with another unit.
Environment=${UNIT_DIGEST}=${digest}
ExecStart=/usr/sbin/dnsmasq --keep-in-foreground --conf-file=${PATHS.dhcpConfig} --pid-file --log-facility=-
ExecReload=/bin/kill -HUP $MAINPID
TimeoutStartSec=infinity
# The status comes from dhcp-ready.
NotifyAccess=exec
Restart=always
RestartSec=20
DynamicUser=yes
StateDirectory=${basename(PATHS.dhcpState)}
# The service reads the names of the leases.
StateDirectoryMode=0755
UMask=0022
LimitCORE=0

# To serve port 67, to send router advertisements, and to answer devices that have no address yet.
CapabilityBoundingSet=CAP_NET_ADMIN CAP_NET_BIND_SERVICE CAP_NET_RAW
AmbientCapabilities=CAP_NET_ADMIN CAP_NET_BIND_SERVICE CAP_NET_RAW
NoNewPrivileges=yes
ProtectSystem=strict
ProtectHome=yes
PrivateTmp=yes
PrivateDevices=yes
ProtectClock=yes
ProtectControlGroups=yes
ProtectHostname=yes
ProtectKernelLogs=yes
ProtectKernelModules=yes
ProtectKernelTunables=yes
ProtectProc=invisible
RemoveIPC=yes
KeyringMode=private
LockPersonality=yes
MemoryDenyWriteExecute=yes
RestrictAddressFamilies=AF_UNIX AF_INET AF_INET6 AF_NETLINK
RestrictNamespaces=yes
RestrictRealtime=yes
RestrictSUIDSGID=yes
SystemCallArchitectures=native
SystemCallFilter=@system-service
SystemCallFilter=~@privileged @resources @keyring
SystemCallErrorNumber=EPERM

[Install]
WantedBy=multi-user.target
`;
}
