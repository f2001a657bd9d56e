import { startServer } from "../tools/server-program.ts";

/** What waits for a slow client, in bytes; what comes while there is more is dropped. */
const MAX_WAITING = 1 << 20;

/**
 * Starts the server's end of relays in a namespace (mullvad/udp-over-tcp), written from its protocol: each connection to
 * one of the ports has a UDP socket of its own to the WireGuard there.
 */
export function startUdpOverTcp(
  namespace: string,
  wireguardPort: number,
  ports: readonly number[],
): Promise<Bun.Subprocess> {
  const words = [wireguardPort, ...ports].map(String);
  return startServer(namespace, [process.execPath, import.meta.path, ...words]);
}

interface Connection {
  udp: Bun.udp.ConnectedSocket<"buffer"> | null;
  received: Buffer;
  waiting: Buffer;
}

function forward(socket: Bun.Socket<Connection>): void {
  const { data } = socket;
  while (data.udp !== null && data.received.length >= 2) {
    const size = data.received.readUInt16BE();
    if (data.received.length < 2 + size) return;
    data.udp.send(data.received.subarray(2, 2 + size));
    data.received = data.received.subarray(2 + size);
  }
}

function flush(socket: Bun.Socket<Connection>): void {
  const { data } = socket;
  if (data.waiting.length > 0) data.waiting = data.waiting.subarray(Math.max(0, socket.write(data.waiting)));
}

async function begin(socket: Bun.Socket<Connection>, target: number): Promise<void> {
  socket.data = { udp: null, received: Buffer.alloc(0), waiting: Buffer.alloc(0) };
  socket.setNoDelay(true);
  socket.data.udp = await Bun.udpSocket({
    connect: { hostname: "127.0.0.1", port: target },
    socket: {
      data(_, datagram) {
        const { data } = socket;
        if (data.waiting.length > MAX_WAITING) return;
        const header = Buffer.alloc(2);
        header.writeUInt16BE(datagram.length);
        data.waiting = Buffer.concat([data.waiting, header, datagram]);
        flush(socket);
      },
      error() {},
    },
  });
  forward(socket);
}

function serve(target: number, ports: readonly number[]): void {
  for (const port of ports)
    Bun.listen<Connection>({
      hostname: "0.0.0.0",
      port,
      socket: {
        open: (socket) => void begin(socket, target),
        data(socket, bytes) {
          socket.data.received = Buffer.concat([socket.data.received, bytes]);
          forward(socket);
        },
        drain: flush,
        close: (socket) => void socket.data.udp?.close(),
        error() {},
      },
    });
  console.log("listening");
}

if (import.meta.main) {
  const [target = 0, ...ports] = process.argv.slice(2).map(Number);
  serve(target, ports);
}
