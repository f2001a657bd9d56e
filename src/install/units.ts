import { join } from "node:path";
import { BOOT_FILES, BOOT_FOLDER } from "../killswitch/boot-files.ts";
import { TABLE } from "../killswitch/ruleset.ts";
import { KILL_SWITCH_UNIT, PATHS } from "./paths.ts";

/**
 * A table for a boot without its file: nothing gets out at all, for without the file nobody knows which cable is the
 * LAN's. Its chains are those of the table that replaces it.
 */
const WITHOUT_FILE = [
  `add table ${TABLE}`,
  ...["output", "forward"].map(
    (hook) => `add chain ${TABLE} ${hook} { type filter hook ${hook} priority filter; policy drop; }`,
  ),
  `add rule ${TABLE} output oifname "lo" accept`,
].join("; ");

/** Raises the kill switch before the network is up, with `nft` and `ip` alone. Stopping it takes nothing down. */
export function killSwitchUnit(): string {
  const file = (name: string) => join(PATHS.state, BOOT_FOLDER, name);
  return `[Unit]
Description=Portcullis kill switch: from before the network is up nothing leaves beside the tunnel
DefaultDependencies=no
# The state directory may be a file system of its own. The others flush all tables when they start.
After=local-fs.target nftables.service netfilter-persistent.service
# It loads what nft would wait for.
After=systemd-modules-load.service
Wants=network-pre.target
# dhcpcd of older systems does not wait for network-pre.target.
Before=network-pre.target networking.service dhcpcd.service

[Service]
Type=oneshot
RemainAfterExit=yes
# Routing first, for a kernel that refuses the firewall ends the list. A rule that is there already is no error to us.
ExecStart=-/usr/sbin/ip -4 -force -batch ${file(BOOT_FILES.rules4)}
ExecStart=-/usr/sbin/ip -6 -force -batch ${file(BOOT_FILES.rules6)}
# Holds whatever is wrong with the file below.
ExecStart=/usr/sbin/nft '${WITHOUT_FILE}'
ExecStart=/usr/sbin/nft -f ${file(BOOT_FILES.firewall)}
NoNewPrivileges=yes
CapabilityBoundingSet=CAP_NET_ADMIN

[Install]
WantedBy=sysinit.target
`;
}

/** For Debian's own unit, which starts from a file that flushes, too; the kill switch comes after that. */
export const NFTABLES_DROP_IN = `# When it stops, as at each shutdown, it would flush all tables, the kill switch's too; links may still be up then.
[Service]
ExecStop=
`;

/** The service, with no more rights than it needs. */
export function serviceUnit(): string {
  return `[Unit]
Description=Portcullis, a WireGuard VPN gateway with a kill switch
Wants=${KILL_SWITCH_UNIT}
After=${KILL_SWITCH_UNIT} network-pre.target
StartLimitIntervalSec=0

[Service]
Type=notify
# The words come from systemd-notify, a process of its own.
NotifyAccess=all
# A busy Pi needs seconds; what stands meanwhile is the kill switch.
TimeoutStartSec=300
EnvironmentFile=${PATHS.environment}
ExecStart=${PATHS.program} serve
Restart=always
RestartSec=1
# Wrong settings do not get right by another try.
RestartPreventExitStatus=2
WatchdogSec=120
# Where the kernel has no WireGuard, a program carries the tunnel; it lives on while the service restarts.
KillMode=process
StateDirectory=portcullis
StateDirectoryMode=0700
# Where that program listens.
RuntimeDirectory=wireguard
RuntimeDirectoryMode=0700
RuntimeDirectoryPreserve=yes
UMask=0077
# A dump of the memory would hold private keys.
LimitCORE=0

# The second for a port below 1024, which the operator may choose at any time.
CapabilityBoundingSet=CAP_NET_ADMIN CAP_NET_BIND_SERVICE
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
# The kernel loads what nft and ip ask for by itself.
ProtectKernelModules=yes
ProtectProc=invisible
RemoveIPC=yes
KeyringMode=private
LockPersonality=yes
RestrictAddressFamilies=AF_UNIX AF_INET AF_INET6 AF_NETLINK
RestrictNamespaces=yes
RestrictRealtime=yes
RestrictSUIDSGID=yes
SystemCallArchitectures=native
SystemCallFilter=@system-service
SystemCallFilter=~@privileged @resources @keyring
SystemCallErrorNumber=EPERM
# Not ProtectKernelTunables: the service sets ip_forward and its like. Not MemoryDenyWriteExecute: JavaScript is
# compiled while it runs.

[Install]
WantedBy=multi-user.target
`;
}
