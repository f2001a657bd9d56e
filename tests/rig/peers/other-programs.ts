import { chmodSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { LAN } from "../../../src/sandbox/topology.ts";
import type { Lab, Ran } from "../tools/lab.ts";

/** What other programs load on a gateway, as they do it: through iptables, which Debian's package makes rules of nft. */

const DOCKER_LINK = "docker0";
/** The address of the computer at the second port of the bridge. */
const NEIGHBOUR = "192.168.77.30";
/** Nothing is there: what another program sends to it outside the tunnel would be a leak. */
const NOWHERE = "203.0.113.99:51820";

/**
 * Makes the LAN's interface a bridge of two ports, as on a gateway that is an access point as well, and returns the
 * namespace of the computer at the second one. Without Docker the kernel does not show the firewall what is bridged.
 */
export async function bridgeLan(lab: Lab): Promise<string> {
  const neighbour = `${lab.sandbox.id}-neighbour`;
  const { gateway } = lab.namespaces;
  await done(lab.outside(["ip", "netns", "add", neighbour]));
  await batch(lab, gateway, [
    ...["link set lan0 down", "address flush dev lan0", "link set lan0 name port0"],
    "link add lan0 type bridge",
    `link add port1 type veth peer lan0 netns ${neighbour}`,
    ...["port0", "port1"].map((port) => `link set ${port} master lan0 up`),
    `address add ${LAN.gateway4}/24 dev lan0`,
    `address add ${LAN.gateway6}/64 dev lan0 nodad`,
    "link set lan0 up",
  ]);
  await batch(lab, neighbour, [`address add ${NEIGHBOUR}/24 dev lan0`, "link set lan0 up"]);
  await seeBridged(lab, 0);
  return neighbour;
}

/** 1 is what the kernel begins with when Docker has loaded br_netfilter. */
async function seeBridged(lab: Lab, value: 0 | 1): Promise<void> {
  const settings = ["iptables", "ip6tables"].map((name) => `net.bridge.bridge-nf-call-${name}=${value}`);
  await done(lab.exec(lab.namespaces.gateway, ["sysctl", "-qw", ...settings]));
}

/** Docker's bridge with a container on it, whose namespace is returned, and what the daemon (Moby 28) adds to iptables. */
export async function startDocker(lab: Lab): Promise<string> {
  const container = `${lab.sandbox.id}-container`;
  await done(lab.outside(["ip", "netns", "add", container]));
  await batch(lab, lab.namespaces.gateway, [
    `link add ${DOCKER_LINK} type bridge`,
    `address add 172.17.0.1/16 dev ${DOCKER_LINK}`,
    `link set ${DOCKER_LINK} up`,
    `link add veth0 type veth peer eth0 netns ${container}`,
    `link set veth0 master ${DOCKER_LINK} up`,
  ]);
  await batch(lab, container, [
    "link set lo up",
    "address add 172.17.0.2/16 dev eth0",
    "link set eth0 up",
    "route add default via 172.17.0.1",
  ]);
  await seeBridged(lab, 1);
  // The policy is Docker's if it was Docker that turned forwarding on.
  await restore(lab, 4, [
    "*filter",
    ...[
      ":FORWARD DROP",
      ":DOCKER -",
      ":DOCKER-BRIDGE -",
      ":DOCKER-CT -",
      ":DOCKER-FORWARD -",
      ":DOCKER-USER -",
    ],
    "-A FORWARD -j DOCKER-USER",
    "-A FORWARD -j DOCKER-FORWARD",
    `-A DOCKER ! -i ${DOCKER_LINK} -o ${DOCKER_LINK} -j DROP`,
    `-A DOCKER-BRIDGE -o ${DOCKER_LINK} -j DOCKER`,
    `-A DOCKER-CT -o ${DOCKER_LINK} -m conntrack --ctstate RELATED,ESTABLISHED -j ACCEPT`,
    "-A DOCKER-FORWARD -j DOCKER-CT",
    "-A DOCKER-FORWARD -j DOCKER-BRIDGE",
    `-A DOCKER-FORWARD -i ${DOCKER_LINK} -j ACCEPT`,
    "COMMIT",
    "*nat",
    ":DOCKER -",
    "-A PREROUTING -m addrtype --dst-type LOCAL -j DOCKER",
    "-A OUTPUT ! -d 127.0.0.0/8 -m addrtype --dst-type LOCAL -j DOCKER",
    `-A POSTROUTING -s 172.17.0.0/16 ! -o ${DOCKER_LINK} -j MASQUERADE`,
    "COMMIT",
  ]);
  return container;
}

/** What `ufw enable` loads with Debian's defaults, reduced to the chains that decide; SSH is allowed. */
export async function startUfw(lab: Lab): Promise<void> {
  for (const family of [4, 6] as const) {
    const ufw = family === 4 ? "ufw" : "ufw6";
    const icmp = family === 4 ? "-p icmp --icmp-type" : "-p icmpv6 --icmpv6-type";
    const discovery = ["neighbor-solicitation", "neighbor-advertisement"];
    await restore(lab, family, [
      "*filter",
      ...[":INPUT DROP", ":FORWARD DROP"],
      ...["before", "user", "reject", "track"].flatMap((kind) =>
        ["input", "forward"].map((hook) => `:${ufw}-${kind}-${hook} -`),
      ),
      ...(["INPUT", "FORWARD"] as const).flatMap((hook) =>
        ["before", "reject", "track"].map((kind) => `-A ${hook} -j ${ufw}-${kind}-${hook.toLowerCase()}`),
      ),
      `-A ${ufw}-before-input -i lo -j ACCEPT`,
      ...["input", "forward"].flatMap((hook) => [
        `-A ${ufw}-before-${hook} -m conntrack --ctstate RELATED,ESTABLISHED -j ACCEPT`,
        `-A ${ufw}-before-${hook} ${icmp} echo-request -j ACCEPT`,
      ]),
      ...(family === 4 ? [] : discovery.map((type) => `-A ${ufw}-before-input ${icmp} ${type} -j ACCEPT`)),
      `-A ${ufw}-before-input -m conntrack --ctstate INVALID -j DROP`,
      ...["input", "forward"].map((hook) => `-A ${ufw}-before-${hook} -j ${ufw}-user-${hook}`),
      `-A ${ufw}-user-input -p tcp --dport 22 -j ACCEPT`,
      "COMMIT",
    ]);
  }
}

/** What `ufw default allow routed` changes. */
export async function allowRouted(lab: Lab): Promise<void> {
  for (const family of [4, 6] as const) {
    const chain = `${family === 4 ? "ufw" : "ufw6"}-track-forward`;
    await restore(lab, family, [
      "*filter",
      ":FORWARD ACCEPT",
      ...["tcp", "udp"].map((each) => `-A ${chain} -p ${each} -m conntrack --ctstate NEW -j ACCEPT`),
      "COMMIT",
    ]);
  }
}

/**
 * Tailscale with an exit node: its interface, whose other end is in the namespace that is returned, its rules, and its
 * routing table, which takes everything.
 */
export async function startTailscale(lab: Lab): Promise<string> {
  const tailnet = `${lab.sandbox.id}-tailnet`;
  await done(lab.outside(["ip", "netns", "add", tailnet]));
  const link = "tailscale0";
  for (const [family, address] of [
    ["-4", "100.101.102.103/32"],
    ["-6", "fd7a:115c:a1e0::3/128"],
  ] as const) {
    const lines = [
      ...(family === "-4" ? [`link add ${link} type veth peer peer0 netns ${tailnet}`] : []),
      `address add ${address} dev ${link}`,
      `link set ${link} up`,
      "rule add priority 5210 fwmark 0x80000/0xff0000 lookup main",
      "rule add priority 5230 fwmark 0x80000/0xff0000 lookup default",
      "rule add priority 5250 fwmark 0x80000/0xff0000 unreachable",
      "rule add priority 5270 lookup 52",
      `route add default dev ${link} table 52`,
    ];
    await done(lab.exec(lab.namespaces.gateway, ["ip", family, "-batch", "-"], `${lines.join("\n")}\n`));
  }
  await done(lab.exec(tailnet, ["ip", "link", "set", "peer0", "up"]));
  for (const family of [4, 6] as const)
    await restore(lab, family, [
      "*filter",
      ...[":ts-input -", ":ts-forward -"],
      "-A INPUT -j ts-input",
      "-A FORWARD -j ts-forward",
      ...(family === 4 ? [`-A ts-input -s 100.64.0.0/10 ! -i ${link} -j DROP`] : []),
      `-A ts-input -i ${link} -j ACCEPT`,
      "-A ts-input -p udp --dport 41641 -j ACCEPT",
      `-A ts-forward -i ${link} -j MARK --set-xmark 0x40000/0xff0000`,
      "-A ts-forward -m mark --mark 0x40000/0xff0000 -j ACCEPT",
      `-A ts-forward -o ${link} -j ACCEPT`,
      "COMMIT",
      "*nat",
      ":ts-postrouting -",
      "-A POSTROUTING -j ts-postrouting",
      "-A ts-postrouting -m mark --mark 0x40000/0xff0000 -j MASQUERADE",
      "COMMIT",
      "*mangle",
      "-A PREROUTING -m conntrack --ctstate ESTABLISHED,RELATED -j CONNMARK --restore-mark --nfmask 0xff0000 --ctmask 0xff0000",
      "COMMIT",
    ]);
  return tailnet;
}

/** Another tunnel of the operator's, by `wg-quick` itself. Its interface's name is unique on the machine. */
export async function wgQuick(lab: Lab, verb: "up" | "down"): Promise<void> {
  const file = join(lab.sandbox.directory, `${wgQuickLink(lab)}.conf`);
  const [{ importText }] = lab.sandbox.servers;
  // Without its resolver: `wg-quick` would change the machine's.
  const text = importText.replace(/^DNS = .*$/m, "").replace(/^Endpoint = .*$/m, `Endpoint = ${NOWHERE}`);
  writeFileSync(file, text, { mode: 0o600 });
  chmodSync(file, 0o600);
  await done(lab.outside(["ip", "netns", "exec", lab.namespaces.gateway, "wg-quick", verb, file]));
}

export function wgQuickLink(lab: Lab): string {
  return `${lab.sandbox.id}q`;
}

async function restore(lab: Lab, family: 4 | 6, lines: readonly string[]): Promise<void> {
  const program = family === 4 ? "iptables-nft-restore" : "ip6tables-nft-restore";
  await done(lab.exec(lab.namespaces.gateway, [program, "--noflush"], `${lines.join("\n")}\n`));
}

async function batch(lab: Lab, namespace: string, lines: readonly string[]): Promise<void> {
  await done(lab.outside(["ip", "-n", namespace, "-batch", "-"], `${lines.join("\n")}\n`));
}

async function done(work: Promise<Ran>): Promise<void> {
  const { code, stdout, stderr } = await work;
  if (code !== 0) throw new Error(stderr || stdout);
}
