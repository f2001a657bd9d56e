import { commandIn } from "../../../src/sandbox/namespace.ts";
import { startServer } from "../tools/server-program.ts";
import { AMNEZIA_PORT } from "./amnezia.ts";
import { lossy } from "./lossy.ts";
import { SHADOWSOCKS_PORT } from "./shadowsocks.ts";

/** Where the program listens, besides WireGuard. */
const LWO_PORT = 41_820;

interface Server {
  /** Base64. */
  serverKey: string;
  /** Of the WireGuard in the same namespace. */
  wireguard: string;
}

/**
 * Starts the server's end of LWO in a namespace, before the WireGuard there, written from its description and without
 * the gateway's code: what comes with the mark of a hidden header goes to the program, whatever the port. What is
 * encrypted by Shadowsocks, and what AmneziaWG sends, has such a mark by chance.
 */
export async function startLwo(
  namespace: string,
  wireguardPort: number,
  server: Server,
): Promise<Bun.Subprocess> {
  const rule = `iifname "wan0" udp dport != { ${SHADOWSOCKS_PORT}, ${AMNEZIA_PORT} } @th,72,8 & 0x80 == 0x80 redirect to :${LWO_PORT};`;
  const table = `table inet lwo { chain in { type nat hook prerouting priority -95; ${rule} }; }`;
  const nft = Bun.spawn(commandIn(namespace, ["nft", table]), { stdin: "ignore", stderr: "inherit" });
  if ((await nft.exited) !== 0) throw new Error("nft refused the server's end of LWO");
  const words = [String(wireguardPort), JSON.stringify(server)];
  return startServer(namespace, [process.execPath, import.meta.path, ...words]);
}

/** The sizes of initiation, response and cookie, and of what stands before encrypted data. */
const SIZES = [148, 92, 64, 32];

/** Undoes, or does, the exclusive or with a key; false if no message is of such a type and size. */
function crossed(packet: Buffer, key: Buffer, type: number): boolean {
  const size = SIZES[type - 1];
  if (size === undefined || packet.length < size) return false;
  for (let at = 0; at < size; at += 32)
    for (let part = 0; part < 32 && at + part < size; part += 1)
      packet.writeUInt8(packet.readUInt8(at + part) ^ key.readUInt8(part), at + part);
  return true;
}

/** The key of the peer that WireGuard answers at this port, which is one client's alone; null if it knows none. */
async function keyAt(wireguard: string, port: number): Promise<Buffer | null> {
  const wg = Bun.spawn(["wg", "show", wireguard, "endpoints"], { stdin: "ignore", stdout: "pipe" });
  const line = (await wg.stdout.text()).split("\n").find((each) => each.endsWith(`:${port}`));
  return line === undefined ? null : Buffer.from(line.split("\t")[0] ?? "", "base64");
}

async function serve(wireguardPort: number, { serverKey, wireguard }: Server): Promise<void> {
  const own = Buffer.from(serverKey, "base64");
  /** A socket to WireGuard for each client, so that its answers find back. */
  const clients = new Map<string, Promise<Bun.udp.ConnectedSocket<"buffer">>>();
  const outside = await Bun.udpSocket({
    hostname: "0.0.0.0",
    port: LWO_PORT,
    socket: {
      async data(_, packet, port, address) {
        if (!crossed(packet, own, packet.readUInt8(0) ^ own.readUInt8(0))) return;
        packet.writeUInt8(0, 1);
        const name = `${address} ${port}`;
        const begun = clients.get(name) ?? inside(port, address);
        clients.set(name, begun);
        const socket = await begun;
        lossy(() => socket.send(packet));
      },
      // The client may be out of reach for a while.
      error() {},
    },
  });
  const inside = (port: number, address: string) => {
    /** Once it is known: a client may have several keys, one after the other. */
    let theirs: Buffer | null = null;
    return Bun.udpSocket({
      connect: { hostname: "127.0.0.1", port: wireguardPort },
      socket: {
        async data(socket, packet) {
          theirs ??= await keyAt(wireguard, socket.port);
          if (theirs === null || !crossed(packet, theirs, packet.readUInt8(0))) return;
          packet.writeUInt8(0x80 + Math.floor(Math.random() * 0x80), 1);
          lossy(() => outside.send(packet, port, address));
        },
        error() {},
      },
    });
  };
  console.log("listening");
}

if (import.meta.main) {
  const [port = "", keys = ""] = process.argv.slice(2);
  await serve(Number(port), JSON.parse(keys));
}
