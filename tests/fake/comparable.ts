import { chainsListed, finalRulesStand, isDormant } from "../../src/killswitch/listing.ts";

type Json = Record<string, unknown>;

/**
 * What of an answer must be the same on the fake and on a real kernel. Left out is what the gateway does not read, and
 * what no two kernels have in common: indexes, handles, ports, times and the names that a machine has for numbers.
 */
export function comparable(command: string, answer: string): unknown {
  if (command.startsWith("ip -j")) return comparableJson(command, JSON.parse(answer || "[]"));
  if (command === "nft -j list chains") return chainsInJson(JSON.parse(answer));
  if (/^nft -s (-n )?list table/.test(command)) return comparableTable(answer);
  if (/^wg show \S+ dump$/.test(command)) return dumpWithoutTimes(answer);
  if (command === "get=1") return uapiWithoutTimes(answer);
  // What `nft` echoes is compared with what it lists; the others print nothing that the gateway reads.
  return command.startsWith("nft -e") ? null : answer.trim();
}

/**
 * nft spells a rule in its own way, and the fake does as it was told. Each rule has a comment of its own: with the
 * heads of the chains they say which rules there are, and in which order.
 */
function comparableTable(listing: string): unknown {
  const chains = chainsListed(listing);
  return {
    finalRulesStand: finalRulesStand(listing),
    isDormant: isDormant(chains),
    // The head of a hooked chain has no comment.
    chains: [...chains].map(([name, lines]) => [
      name,
      lines.map((line) => /comment "[^"]*"$/.exec(line)?.[0] ?? line.replace(/priority [^;]+;/, "")),
    ]),
  };
}

function comparableJson(command: string, shown: Json[]): unknown {
  if (command.endsWith("rule show")) return shown.map(comparableRule);
  if (command.includes("address show")) return shown.map(comparableLink);
  if (command.endsWith("neigh show"))
    return shown.map(({ dst, dev, lladdr, state }) => JSON.stringify({ dst, dev, lladdr, state })).sort();
  if (command.endsWith("link show")) return shown.map(({ ifname }) => ifname).sort();
  // In the order of their prefixes on a real kernel, and of the commands on the fake; no one reads an order.
  // The fake has no routes of the kernel's own.
  const others = shown.filter(({ protocol }) => protocol !== "kernel");
  const routes = others.map(({ dst, dev, flags = [] }) => JSON.stringify({ dst, dev, flags }));
  return routes.sort();
}

/** Kernels from 6.15 on name the mask of a port; without /etc/protocols a protocol has a number for a name. */
function comparableRule({ sport_mask, dport_mask, ...rule }: Json): Json {
  const names: Json = { "ipproto-17": "udp", "ipproto-6": "tcp" };
  return "ipproto" in rule ? { ...rule, ipproto: names[String(rule.ipproto)] ?? rule.ipproto } : rule;
}

function comparableLink({ ifname, mtu, link_type, flags, addr_info }: Json): Json {
  const read = ["UP", "NO-CARRIER"];
  const addresses = (addr_info as Json[])
    .map(({ local, prefixlen }) => `${local}/${prefixlen}`)
    // The kernel gives a userspace tunnel a link-local address of its own choice, and WireGuard's none.
    .filter((address) => link_type !== "none" || !address.startsWith("fe80:"));
  return {
    ...{ ifname, mtu, link_type },
    flags: (flags as string[]).filter((flag) => read.includes(flag)).sort(),
    addresses: addresses.sort(),
  };
}

function chainsInJson({ nftables }: { nftables: { chain?: Json }[] }): unknown {
  return nftables
    .flatMap(({ chain }) => (chain === undefined ? [] : [chain]))
    .map(({ family, table, name, hook, policy }) => JSON.stringify({ family, table, name, hook, policy }))
    .sort();
}

/** The port is any that is free. Until the server answers, WireGuard goes on to send its first packet, and counts it. */
function dumpWithoutTimes(dump: string): unknown {
  const [own = [], ...peers] = dump
    .trimEnd()
    .split("\n")
    .map((line) => line.split("\t"));
  const shown = peers.map(([key, preshared, endpoint, allowed = "", handshake, received, , keepalive]) =>
    JSON.stringify([key, preshared, endpoint, allowed.split(",").sort(), handshake, received, keepalive]),
  );
  return { own: own.toSpliced(2, 1), peers: shown.sort() };
}

function uapiWithoutTimes(answer: string): unknown {
  const lines = answer.split("\n").filter((line) => !/^(listen_port|tx_bytes)=/.test(line));
  const [own = "", ...peers] = lines.join("\n").split(/^(?=public_key=|errno=)/m);
  // wireguard-go keeps its peers in a map, which has no order.
  return { own, peers: peers.map((peer) => peer.split("\n").toSorted().join("\n")).sort() };
}
