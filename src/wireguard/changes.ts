import { type Prefix, parsePrefix } from "../base/address.ts";
import { lines } from "./config-text.ts";
import { base64Of, hexOf, type Own, type Peer, peerLines, peerSection } from "./interface.ts";

/** A state as WireGuard tells it, in the format of the userspace program or of `wg`. */
export type InterfaceDump = { uapi: string } | { dump: string };

/** What an interface with several peers lacks. Peers that are as they should be are not among it. */
export interface Changes {
  listenPort: number | null;
  fwmark: number | null;
  removed: readonly string[];
  peers: readonly Peer[];
}

/**
 * What makes the interface as it should be. Everything that is written again costs packets: the userspace program opens
 * its socket anew for a port that it has, and a peer whose addresses are replaced has none for a moment.
 */
export function changesFor(
  told: InterfaceDump,
  { fwmark, listenPort = 0 }: Own,
  wanted: readonly Peer[],
): Changes {
  const now = "uapi" in told ? inUapi(told.uapi) : inDump(told.dump);
  const kept = new Set(wanted.map(({ config }) => config.publicKey));
  return {
    listenPort: listenPort === now.listenPort ? null : listenPort,
    fwmark: fwmark === now.fwmark ? null : fwmark,
    removed: [...now.peers.keys()].filter((key) => !kept.has(key)),
    peers: wanted.filter(({ config }) => now.peers.get(config.publicKey) !== wordsOf(config)),
  };
}

export function isNone({ listenPort, fwmark, removed, peers }: Changes): boolean {
  return listenPort === null && fwmark === null && removed.length === 0 && peers.length === 0;
}

/** As a `set=1` request of the cross-platform userspace interface (wireguard.com/xplatform). */
export function uapiChanges({ listenPort, fwmark, removed, peers }: Changes): string {
  const text = lines([
    "set=1",
    fwmark !== null && `fwmark=${fwmark}`,
    listenPort !== null && `listen_port=${listenPort}`,
    ...removed.flatMap((publicKey) => [`public_key=${hexOf(publicKey)}`, "remove=true"]),
    ...peers.flatMap((peer) => peerLines(peer, "replace_allowed_ips=true")),
  ]);
  return `${text}\n`;
}

/** As text for `wg addconf IF /dev/stdin`, which removes nothing; empty if there is nothing to add. */
export function addconfText({ listenPort, fwmark, peers }: Changes): string {
  const own = [
    fwmark !== null && `FwMark = ${fwmark}`,
    listenPort !== null && `ListenPort = ${listenPort}`,
  ].filter((line) => line !== false);
  if (own.length === 0 && peers.length === 0) return "";
  return lines([...(own.length === 0 ? [] : ["[Interface]", ...own]), ...peers.flatMap(peerSection)]);
}

interface Present {
  listenPort: number;
  fwmark: number;
  /** By public key: what a peer has, in words that are only compared. */
  peers: ReadonlyMap<string, string>;
}

const NO_KEY = "0".repeat(64);

function inUapi(text: string): Present {
  const pairs = text.split("\n").map((line) => line.split("=", 2) as [string, string]);
  const starts = pairs.flatMap(([key], at) => (key === "public_key" ? [at] : []));
  const own = new Map(pairs.slice(0, starts[0]));
  const peers = starts.map((start, at) => {
    const of = (name: string) =>
      pairs.slice(start, starts[at + 1]).flatMap(([key, value]) => (key === name ? [value] : []));
    const [key = "", preshared = NO_KEY] = [...of("public_key"), ...of("preshared_key")];
    return [base64Of(key), wordsFor(preshared, of("allowed_ip"))] as const;
  });
  return {
    listenPort: Number(own.get("listen_port") ?? 0),
    fwmark: Number(own.get("fwmark") ?? 0),
    peers: new Map(peers),
  };
}

function inDump(text: string): Present {
  const [own = [], ...peers] = text
    .trimEnd()
    .split("\n")
    .map((line) => line.split("\t"));
  const [, , port = "0", mark = "off"] = own;
  return {
    listenPort: Number(port),
    fwmark: mark === "off" ? 0 : Number(mark),
    peers: new Map(
      peers.map(([key = "", preshared = "(none)", , allowed = "(none)"]) => [
        key,
        wordsFor(
          preshared === "(none)" ? NO_KEY : hexOf(preshared),
          allowed === "(none)" ? [] : allowed.split(","),
        ),
      ]),
    ),
  };
}

function wordsOf({ presharedKey, allowedIps }: Peer["config"]): string {
  return wordsFor(presharedKey === undefined ? NO_KEY : hexOf(presharedKey), allowedIps);
}

/** C and Go spell some IPv6 addresses differently. */
function wordsFor(presharedKey: string, allowedIps: readonly string[]): string {
  const prefixes = allowedIps.map((each): Prefix | string => parsePrefix(each) ?? each).sort();
  return `${presharedKey} ${prefixes.join(" ")}`;
}
