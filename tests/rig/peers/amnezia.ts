import { blake2s } from "@noble/hashes/blake2.js";
import { startServer } from "../tools/server-program.ts";
import { lossy } from "./lossy.ts";

/** Where the program listens, besides WireGuard. */
export const AMNEZIA_PORT = 41_194;

interface Setting {
  /** Base64. */
  serverKey: string;
  clientKey: string;
  /** Random bytes before the four kinds of messages, and the numbers in place of their types. */
  S: number[];
  H: [number, number][];
}

/** A client's file for such a server, as providers write them. */
export const AMNEZIA_LINES = `Jc = 5
Jmin = 40
Jmax = 90
S1 = 72
S2 = 31
S3 = 20
S4 = 9
H1 = 1000000000-1100000000
H2 = 7654321
H3 = 200-299
H4 = 3000000000-3999999999
I1 = <b 0xc0ffee><r 16><rd 4><t><c>`;
/** The same in a request. */
export const AMNEZIA_SETTINGS: Record<string, string | number> = Object.fromEntries(
  AMNEZIA_LINES.split("\n").map((line) => {
    const [key = "", value = ""] = line.split(" = ");
    return [key.toLowerCase(), /^[JS]/.test(key) ? Number(value) : value];
  }),
);
const SAME_AS_LINES: Pick<Setting, "S" | "H"> = {
  S: [72, 31, 20, 9],
  H: [
    [1_000_000_000, 1_100_000_000],
    [7_654_321, 7_654_321],
    [200, 299],
    [3_000_000_000, 3_999_999_999],
  ],
};

/**
 * Starts the server's end of AmneziaWG in a namespace, before the WireGuard there, written from its description and
 * without the gateway's code.
 */
export async function startAmnezia(
  namespace: string,
  wireguardPort: number,
  keys: Pick<Setting, "serverKey" | "clientKey">,
): Promise<Bun.Subprocess> {
  const words = [String(wireguardPort), JSON.stringify({ ...keys, ...SAME_AS_LINES })];
  return startServer(namespace, [process.execPath, import.meta.path, ...words]);
}

/** Initiation, response and cookie have these sizes; data is of 32 bytes or more. */
const SIZES = [148, 92, 64];

const hashed = (label: string, key: string) =>
  blake2s(Buffer.concat([Buffer.from(label), Buffer.from(key, "base64")]));

/** The first code of a handshake, which covers all before it. */
function firstCode(packet: Buffer, key: Uint8Array): Buffer {
  return Buffer.from(blake2s(packet.subarray(0, -32), { key, dkLen: 16 }));
}

/** WireGuard's message in what a client has sent; null for junk. */
function undone(packet: Buffer, { S, H }: Setting, own: Uint8Array): Buffer | null {
  for (const index of [0, 1, 2, 3]) {
    const [skip = 0, size] = [S[index], SIZES[index]];
    const [from = 0, to = 0] = H[index] ?? [];
    const inner = Buffer.from(packet.subarray(skip));
    if (size === undefined ? inner.length < 32 : inner.length !== size) continue;
    const type = inner.readUInt32LE(0);
    if (type < from || type > to) continue;
    if (index < 2 && !firstCode(inner, own).equals(inner.subarray(-32, -16))) continue;
    inner.writeUInt32LE(index + 1, 0);
    if (index < 2) firstCode(inner, own).copy(inner, inner.length - 32);
    return inner;
  }
  return null;
}

function done(packet: Buffer, { S, H }: Setting, theirs: Uint8Array): Buffer {
  const index = packet.readUInt8(0) - 1;
  const [from = 0, to = 0] = H[index] ?? [];
  const outer = Buffer.from(packet);
  outer.writeUInt32LE(from + Math.floor(Math.random() * (1 + to - from)), 0);
  if (index < 2) firstCode(outer, theirs).copy(outer, outer.length - 32);
  return Buffer.concat([crypto.getRandomValues(new Uint8Array(S[index] ?? 0)), outer]);
}

async function serve(wireguardPort: number, setting: Setting): Promise<void> {
  const own = hashed("mac1----", setting.serverKey);
  const theirs = hashed("mac1----", setting.clientKey);
  /** A socket to WireGuard for each client, so that its answers find back. */
  const clients = new Map<string, Promise<Bun.udp.ConnectedSocket<"buffer">>>();
  const outside = await Bun.udpSocket({
    hostname: "0.0.0.0",
    port: AMNEZIA_PORT,
    socket: {
      async data(_, packet, port, address) {
        const inner = undone(packet, setting, own);
        if (inner === null) return;
        const name = `${address} ${port}`;
        const begun = clients.get(name) ?? inside(port, address);
        clients.set(name, begun);
        const socket = await begun;
        lossy(() => socket.send(inner));
      },
      // The client may be out of reach for a while.
      error() {},
    },
  });
  const inside = (port: number, address: string) =>
    Bun.udpSocket({
      connect: { hostname: "127.0.0.1", port: wireguardPort },
      socket: {
        data: (_, packet) => lossy(() => outside.send(done(packet, setting, theirs), port, address)),
        error() {},
      },
    });
  console.log("listening");
}

if (import.meta.main) {
  const [port = "", setting = ""] = process.argv.slice(2);
  await serve(Number(port), JSON.parse(setting));
}
