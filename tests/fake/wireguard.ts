import { publicKeyOf } from "../../src/wireguard/key.ts";
import type { FakeDevice, FakeLink } from "./link.ts";
import { converse, type FakePeer, type Internet, meet, NO_ENDPOINT, newPeer, type ToldPeer } from "./peer.ts";
import { fail, unknown } from "./refusal.ts";

/** What WireGuard is told, by `wg` or on the socket. */
interface FakeConfig {
  privateKey: string;
  fwmark: number;
  peers: ToldPeer[];
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
    if (last !== "/dev/stdin") return unknown(command);
    if (verb === "setconf") this.configure(link, setconfConfig(stdin));
    else if (verb === "addconf") this.add(link.device, stdin);
    else return unknown(command);
    return "";
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
    if (!request.startsWith("set=1\n")) return unknown(request);
    this.configure(link, uapiConfig(request));
    return "errno=0\n\n";
  }

  /** What /sys shows of an interface. Of a program's, the kernel sees only data. */
  file(name: string, file: string): string | null {
    const link = this.links.get(name);
    if (link === undefined || link.device === null) return null;
    if (file === "uevent") return `${link.userspace ? "" : "DEVTYPE=wireguard\n"}INTERFACE=${name}\n`;
    const counter = file.startsWith("statistics/rx_") ? "received" : "sent";
    const unit = link.userspace ? "data" : file.endsWith("_packets") ? "packets" : "bytes";
    const counts = peersOf(this.observed(link, link.device)).map((peer) => peer[counter][unit]);
    return `${counts.reduce((sum, number) => sum + number, 0)}\n`;
  }

  /** Time goes by for the tunnels. */
  elapse(ms: number): void {
    for (const { up, device } of this.links.values()) {
      if (up && device?.peer) converse(device.peer, this.internet.monotonic() + ms, this.internet);
    }
  }

  private configure(link: FakeLink, { privateKey, fwmark, peers }: FakeConfig): void {
    const [peer = null, ...others] = peers.map((told) => newPeer(told, this.internet.monotonic()));
    link.device = { privateKey: clamped(privateKey), fwmark, peer, others };
  }

  /** What is told of a peer that the interface knows replaces the former. */
  private add(device: FakeDevice, text: string): void {
    const fwmark = optionalLineOf(text, "FwMark");
    if (fwmark !== null) device.fwmark = Number(fwmark);
    const known = new Map(peersOf(device).map((peer) => [peer.publicKey, peer]));
    for (const told of peersIn(text)) {
      const former = known.get(told.publicKey) ?? newPeer(told, this.internet.monotonic());
      known.set(told.publicKey, { ...former, ...told });
    }
    [device.peer = null, ...device.others] = known.values();
  }

  private observed(link: FakeLink, device: FakeDevice): FakeDevice {
    if (link.up) for (const peer of peersOf(device)) meet(peer, this.internet);
    return device;
  }
}

function peersOf({ peer, others }: FakeDevice): FakePeer[] {
  return peer === null ? [] : [peer, ...others];
}

/** WireGuard clamps the key that it is given (RFC 7748, 5), and says the clamped one. */
function clamped(privateKey: string): string {
  const key = Uint8Array.fromBase64(privateKey);
  const [first = 0, last = 0] = [key[0], key[31]];
  key.set([first & 248]);
  key.set([(last & 127) | 64], 31);
  return key.toBase64();
}

function setconfConfig(text: string): FakeConfig {
  const [own = ""] = text.split("[Peer]");
  return {
    privateKey: lineOf(own, "PrivateKey"),
    fwmark: Number(lineOf(own, "FwMark")),
    peers: peersIn(text),
  };
}

function peersIn(text: string): ToldPeer[] {
  const [, ...peers] = text.split("[Peer]");
  return peers.map((part) => ({
    publicKey: lineOf(part, "PublicKey"),
    presharedKey: optionalLineOf(part, "PresharedKey"),
    endpoint: optionalLineOf(part, "Endpoint") ?? NO_ENDPOINT,
    allowedIps: optionalLineOf(part, "AllowedIPs")?.split(", ") ?? [],
    keepalive: Number(optionalLineOf(part, "PersistentKeepalive") ?? 0),
  }));
}

function optionalLineOf(part: string, key: string): string | null {
  return new RegExp(`^${key} = (.*)$`, "m").exec(part)?.[1] ?? null;
}

function lineOf(part: string, key: string): string {
  return optionalLineOf(part, key) ?? fail(`no ${key}`);
}

function uapiConfig(request: string): FakeConfig {
  const [own = "", ...peers] = request.split(/^(?=public_key=)/m);
  const all = (part: string, key: string) =>
    [...part.matchAll(new RegExp(`^${key}=(.*)$`, "gm"))].map(([, found = ""]) => found);
  const value = (part: string, key: string) => all(part, key)[0] ?? fail(`no ${key}`);
  // Without it the interface would keep the peers that it has.
  if (value(own, "replace_peers") !== "true") unknown(request);
  return {
    privateKey: Uint8Array.fromHex(value(own, "private_key")).toBase64(),
    fwmark: Number(value(own, "fwmark")),
    peers: peers.map((part) => ({
      publicKey: Uint8Array.fromHex(value(part, "public_key")).toBase64(),
      presharedKey: all(part, "preshared_key").map((key) => Uint8Array.fromHex(key).toBase64())[0] ?? null,
      endpoint: value(part, "endpoint"),
      allowedIps: all(part, "allowed_ip"),
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
      peer.presharedKey ?? "(none)",
      endpoint,
      peer.allowedIps.join(",") || "(none)",
      seconds,
      String(peer.received.bytes),
      String(peer.sent.bytes),
      String(keepalive || "off"),
    ]);
  }
  return `${lines.map((line) => line.join("\t")).join("\n")}\n`;
}

/** The answer to `get=1`, in the order in which wireguard-go has it. */
function uapiOf(device: FakeDevice): string {
  const { privateKey, fwmark } = device;
  const lines = [
    ...(privateKey === "" ? [] : [`private_key=${hexOf(privateKey)}`]),
    "listen_port=51820",
    ...(fwmark === 0 ? [] : [`fwmark=${fwmark}`]),
    ...peersOf(device).flatMap(uapiLines),
    "errno=0",
  ];
  return `${lines.join("\n")}\n\n`;
}

function uapiLines(peer: FakePeer): string[] {
  return [
    `public_key=${hexOf(peer.publicKey)}`,
    `preshared_key=${peer.presharedKey === null ? NO_KEY : hexOf(peer.presharedKey)}`,
    "protocol_version=1",
    ...(peer.endpoint === NO_ENDPOINT ? [] : [`endpoint=${peer.endpoint}`]),
    `last_handshake_time_sec=${Math.floor(peer.latestHandshake / 1000)}`,
    `last_handshake_time_nsec=${Math.round((peer.latestHandshake % 1000) * 1e6)}`,
    `tx_bytes=${peer.sent.bytes}`,
    `rx_bytes=${peer.received.bytes}`,
    `persistent_keepalive_interval=${peer.keepalive}`,
    ...peer.allowedIps.map((prefix) => `allowed_ip=${prefix}`),
  ];
}

const NO_KEY = "0".repeat(64);

function hexOf(base64: string): string {
  return Uint8Array.fromBase64(base64).toHex();
}

const publicKeys = new Map<string, string>();

/** Remembered: the gateway looks for a handshake many times a second. */
function publicKey(privateKey: string): string {
  const known = publicKeys.get(privateKey) ?? publicKeyOf(privateKey);
  publicKeys.set(privateKey, known);
  return known;
}
