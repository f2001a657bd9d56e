import { expect, test } from "bun:test";
import { reasonIn } from "../../src/system/reason.ts";

const BOX = `┌──────────────────────────────────────────────────────┐
│                                                      │
│   Running wireguard-go is not required because this  │
│   kernel has first class support for WireGuard. For  │
│   information on installing the kernel module,       │
│   please visit:                                      │
│         https://www.wireguard.com/install/           │
│                                                      │
└──────────────────────────────────────────────────────┘
`;

interface Said {
  of: string;
  stderr: string;
  stdout?: string;
  reason: string;
}

/** The standard error of failing programs of Debian 12. */
const SAID: Said[] = [
  {
    of: "nft, an empty set",
    stderr: `/dev/stdin:1:75-75: Error: syntax error, unexpected '}'
table inet x { chain y { type filter hook output priority 0; tcp dport {  } accept; } }
                                                                          ^
/dev/stdin:1:87-87: Error: syntax error, unexpected '}', expecting newline or semicolon
table inet x { chain y { type filter hook output priority 0; tcp dport {  } accept; } }
                                                                                      ^
/dev/stdin:2:1-1: Error: syntax error, unexpected end of file
table inet x { chain y { type filter hook output priority 0; tcp dport {  } accept; } }
^
`,
    reason: "/dev/stdin:1:75-75: Error: syntax error, unexpected '}'",
  },
  {
    of: "nft, a missing chain",
    stderr: `/dev/stdin:1:15-21: Error: Could not process rule: No such file or directory
add rule inet nothere y accept
              ^^^^^^^
`,
    reason: "/dev/stdin:1:15-21: Error: Could not process rule: No such file or directory",
  },
  {
    of: "nft, a missing table",
    stderr: "Error: No such file or directory\nlist table inet nope\n                ^^^^\n",
    reason: "Error: No such file or directory",
  },
  {
    of: "nft, a missing file",
    stderr: `internal:0:0-0: Error: Could not open file "/nonexistent": No such file or directory\n\n\n`,
    reason: `internal:0:0-0: Error: Could not open file "/nonexistent": No such file or directory`,
  },
  {
    of: "nft without rights",
    stderr: `Operation not permitted (you must be root)
netlink: Error: cache initialization failed: Operation not permitted
`,
    reason: "netlink: Error: cache initialization failed: Operation not permitted",
  },
  {
    of: "nft, a refusal below a warning",
    stderr: `# Warning: table ip nat is managed by iptables-nft, do not touch!
Error: Could not process rule: Device or resource busy
`,
    reason: "Error: Could not process rule: Device or resource busy",
  },
  {
    of: "wireguard-go, a name that is taken",
    stderr: BOX,
    stdout: "ERROR: (pc00) 2026/11/22 00:40:57 Failed to create TUN device: device or resource busy\n",
    reason: "Failed to create TUN device: device or resource busy",
  },
  {
    of: "wireguard-go, a folder that it cannot write",
    stderr: BOX,
    stdout:
      "ERROR: (pc00) 2026/11/22 00:44:23 UAPI listen error: remove /var/run/wireguard/pc00.sock: read-only file system\n",
    reason: "UAPI listen error: remove /var/run/wireguard/pc00.sock: read-only file system",
  },
  { of: "wireguard-go, only its banner", stderr: BOX, reason: "" },
  {
    of: "ip, refused by the kernel",
    stderr: "RTNETLINK answers: Operation not permitted\n",
    reason: "RTNETLINK answers: Operation not permitted",
  },
  {
    of: "ip, a missing interface",
    stderr: `Cannot find device "nope"\n`,
    reason: `Cannot find device "nope"`,
  },
  {
    of: "ip, a wrong word",
    stderr: `Error: argument "x" is wrong: preference value is invalid\n\n`,
    reason: `Error: argument "x" is wrong: preference value is invalid`,
  },
  {
    of: "ip -batch, a missing interface",
    stderr: `Cannot find device "nope"\nCommand failed -:1\n`,
    reason: `Cannot find device "nope"`,
  },
  {
    of: "ip -batch, a rule that already exists",
    stderr: "RTNETLINK answers: File exists\nCommand failed -:2\n",
    reason: "RTNETLINK answers: File exists",
  },
  {
    of: "ip -batch, a gateway out of reach",
    stderr: "Error: Nexthop has invalid gateway.\nCommand failed -:1\n",
    reason: "Error: Nexthop has invalid gateway.",
  },
  {
    of: "ip -batch, an unknown word",
    stderr: `Object "bogus" is unknown, try "ip help".\nCommand failed -:1\n`,
    reason: `Object "bogus" is unknown, try "ip help".`,
  },
  {
    of: "ip -n, a missing namespace",
    stderr: `Cannot open network namespace "nope": No such file or directory\n`,
    reason: `Cannot open network namespace "nope": No such file or directory`,
  },
  {
    of: "nsenter, a missing namespace",
    stderr: "nsenter: cannot open /run/netns/nope: No such file or directory\n",
    reason: "nsenter: cannot open /run/netns/nope: No such file or directory",
  },
  {
    of: "wg, a missing interface",
    stderr: "Unable to access interface: Protocol not supported\n",
    reason: "Unable to access interface: Protocol not supported",
  },
  {
    of: "wg, an unknown line",
    stderr: "Line unrecognized: `Nonsense=3'\nConfiguration parsing error\n",
    reason: "Line unrecognized: `Nonsense=3'",
  },
  {
    of: "modprobe",
    stderr: "modprobe: FATAL: Module nonexistentmod not found in directory /lib/modules/6.1.0-40-arm64\n",
    reason: "modprobe: FATAL: Module nonexistentmod not found in directory /lib/modules/6.1.0-40-arm64",
  },
  {
    of: "systemctl without systemd",
    stderr: `System has not been booted with systemd as init system (PID 1). Can't operate.
Failed to connect to bus: Host is down
`,
    reason: "System has not been booted with systemd as init system (PID 1). Can't operate.",
  },
  {
    of: "systemctl, a unit that fails once it is enabled",
    stderr: `Created symlink /etc/systemd/system/multi-user.target.wants/a.service → /etc/systemd/system/a.service.
Job for a.service failed because the control process exited with error code.
See "systemctl status a.service" and "journalctl -xeu a.service" for details.
`,
    reason: "Job for a.service failed because the control process exited with error code.",
  },
  {
    of: "apt-get, as an ordinary user",
    stderr: `E: Could not open lock file /var/lib/dpkg/lock-frontend - open (13: Permission denied)
E: Unable to acquire the dpkg frontend lock (/var/lib/dpkg/lock-frontend), are you root?
`,
    reason: "E: Could not open lock file /var/lib/dpkg/lock-frontend - open (13: Permission denied)",
  },
  {
    of: "apt-get, below a warning",
    stderr: `W: Download is performed unsandboxed as root as file '/root/a.deb' couldn't be accessed by user '_apt'.
E: Unable to locate package nope
`,
    reason: "E: Unable to locate package nope",
  },
  {
    of: "dpkg, above its help",
    stderr: `dpkg: error: unknown option --print-foo

Type dpkg --help for help about installing and deinstalling packages [*];
`,
    reason: "dpkg: error: unknown option --print-foo",
  },
  {
    of: "sysctl",
    stderr: "sysctl: cannot stat /proc/sys/net/ipv4/nope: No such file or directory\n",
    reason: "sysctl: cannot stat /proc/sys/net/ipv4/nope: No such file or directory",
  },
  { of: "a program without output", stderr: "", stdout: "", reason: "" },
  { of: "a program with endless output", stderr: "x".repeat(5_000), reason: "x".repeat(300) },
];

test.each(SAID)("the reason is found in the output of $of", ({ stderr, stdout = "", reason }) => {
  expect(reasonIn(stderr, stdout)).toBe(reason);
});
