import { publicKeyOf } from "../../src/wireguard/key.ts";
import type { FakeDevice, FakeLink } from "./link.ts";
import { converse, type FakePeer, type Internet, meet, newPeer } from "./peer.ts";
import { fail, unknown } from "./refusal.ts";

/** What WireGuard is told, by `wg` or on the socket. */
interface FakeConfig {
  privateKey: string;
  fwmark: number;
  peers: Pick<FakePeer, "publicKey" | "endpoint" | "keepalive">[];
}

/** What `wg` and the socket of a userspace program do. */
export class Wireguard {
  constructor(
    private readonly links: ReadonlyMap<string, FakeLink>,
    private readonly internet: Internet,
  ) {}

  run(command: string, stdin: string): string {
    const [, verb = "", name = "", last = ""] = command.split(" ");
    const link = this.links.get(name);
    if (link?.device == null) return fail("No such device");
    if (verb === "show" && last === "dump") return dumpOf(this.observed(link, link.device));
    if (verb !== "setconf" || last !== "/dev/stdin") return unknown(command);
    return this.configure(link, setconfConfig(stdin));
  }

  /** Whether a program serves this interface on a socket. */
  listens(name: string): boolean {
    const link = this.links.get(name);
    return link?.userspace === true && link.device !== null;
  }

  exchange(name: string, request: string): string {
    const link = this.links.get(name);
    if (link?.device == null) return fail("Connection refused");
    if (request === "get=1\n\n") return uapiOf(this.observed(link, link.device));
    return request.startsWith("set=1\n") ? this.configure(link, uapiConfig(request)) : unknown(request);
  }

  /** What /sys shows of an interface of the kernel's own; null of any other. */
  file(name: string, file: string): string | null {
    const link = this.links.get(name);
    if (link === undefined || link.userspace || link.device === null) return null;
    if (file === "uevent") return `DEVTYPE=wireguard\nINTERFACE=${name}\n`;
    const counter = file === "statistics/rx_packets" ? "received" : "sent";
    const packets = peersOf(this.observed(link, link.device)).map((peer) => peer[counter].packets);
    return `${packets.reduce((sum, number) => sum + number, 0)}\n`;
  }

  /** Time goes by for the tunnels. */
  elapse(ms: number): void {
    for (const { up, device } of this.links.values()) {
      if (up && device?.peer) converse(device.peer, this.internet.monotonic() + ms, this.internet);
    }
  }

  private configure(link: FakeLink, { privateKey, fwmark, peers }: FakeConfig): string {
    const [peer = null, ...others] = peers.map((told) => newPeer(told, this.internet.monotonic()));
    link.device = { privateKey, fwmark, peer, others };
    return "errno=0\n\n";
  }

  private observed(link: FakeLink, device: FakeDevice): FakeDevice {
    if (link.up) for (const peer of peersOf(device)) meet(peer, this.internet);
    return device;
  }
}

function peersOf({ peer, others }: FakeDevice): FakePeer[] {
  return peer === null ? [] : [peer, ...others];
}

function setconfConfig(text: string): FakeConfig {
  const [own = "", ...peers] = text.split("[Peer]");
  const value = (part: string, key: string) =>
    new RegExp(`^${key} = (.*)$`, "m").exec(part)?.[1] ?? fail(`no ${key}`);
  return {
    privateKey: value(own, "PrivateKey"),
    fwmark: Number(value(own, "FwMark")),
    peers: peers.map((part) => ({
      publicKey: value(part, "PublicKey"),
      endpoint: value(part, "Endpoint"),
      keepalive: Number(value(part, "PersistentKeepalive")),
    })),
  };
}

function uapiConfig(request: string): FakeConfig {
  const [own = "", ...peers] = request.split(/^(?=public_key=)/m);
  const value = (part: string, key: string) =>
    new RegExp(`^${key}=(.*)$`, "m").exec(part)?.[1] ?? fail(`no ${key}`);
  return {
    privateKey: Uint8Array.fromHex(value(own, "private_key")).toBase64(),
    fwmark: Number(value(own, "fwmark")),
    peers: peers.map((part) => ({
      publicKey: Uint8Array.fromHex(value(part, "public_key")).toBase64(),
      endpoint: value(part, "endpoint"),
      keepalive: Number(value(part, "persistent_keepalive_interval")),
    })),
  };
}

/** `wg show IF dump`. */
function dumpOf(device: FakeDevice): string {
  const { privateKey, fwmark } = device;
  const own = [privateKey || "(none)", privateKey ? publicKey(privateKey) : "(none)", "51820"];
  const lines = [[...own, fwmark === 0 ? "off" : `0x${fwmark.toString(16)}`]];
  for (const peer of peersOf(device)) {
    const { endpoint, latestHandshake, keepalive } = peer;
    const seconds = String(Math.floor(latestHandshake / 1000));
    lines.push([
      peer.publicKey,
      "(none)",
      endpoint,
      "0.0.0.0/0",
      seconds,
      String(peer.received.bytes),
      String(peer.sent.bytes),
      String(keepalive || "off"),
    ]);
  }
  return `${lines.map((line) => line.join("\t")).join("\n")}\n`;
}

/** The answer to `get=1`. */
function uapiOf(device: FakeDevice): string {
  const { privateKey, fwmark } = device;
  const hex = (key: string) => Uint8Array.fromBase64(key).toHex();
  const lines = privateKey === "" ? [] : [`private_key=${hex(privateKey)}`, `fwmark=${fwmark}`];
  for (const peer of peersOf(device)) {
    lines.push(`public_key=${hex(peer.publicKey)}`, `endpoint=${peer.endpoint}`);
    lines.push(`last_handshake_time_sec=${Math.floor(peer.latestHandshake / 1000)}`);
    lines.push(`last_handshake_time_nsec=${Math.round((peer.latestHandshake % 1000) * 1e6)}`);
    lines.push(`rx_bytes=${peer.received.bytes}`, `tx_bytes=${peer.sent.bytes}`);
  }
  return `${[...lines, "errno=0"].join("\n")}\n\n`;
}

const publicKeys = new Map<string, string>();

/** Remembered: the gateway looks for a handshake many times a second. */
function publicKey(privateKey: string): string {
  const known = publicKeys.get(privateKey) ?? publicKeyOf(privateKey);
  publicKeys.set(privateKey, known);
  return known;
}
