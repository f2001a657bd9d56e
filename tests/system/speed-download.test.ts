import { expect, test } from "bun:test";
import { exchange } from "../../src/system/speed/download.ts";

test("a server that sends its head in drops is left after 5 s", async () => {
  const server = Bun.listen<{ timer: Timer } | undefined>({
    hostname: "127.0.0.1",
    port: 0,
    socket: {
      open: (socket) => {
        socket.data = { timer: setInterval(() => socket.write("H"), 500) };
      },
      data: () => {},
      close: (socket) => clearInterval(socket.data?.timer),
    },
  });
  try {
    let hear: (bytes: Uint8Array) => void = () => {};
    const socket = await Bun.connect<undefined>({
      hostname: "127.0.0.1",
      port: server.port,
      socket: { data: (_, bytes) => hear(bytes) },
    });
    const url = "https://speed.example.com/100MB.bin";
    const place = { link: "lo", mark: 0, addresses: [], url, mostBytes: 1_000_000, mostMs: 1_000 };
    const listen = (onData: typeof hear) => {
      hear = onData;
    };
    await expect(exchange({ socket, listen }, place, () => {})).rejects.toThrow(
      "its answer has not begun within 5 s",
    );
  } finally {
    server.stop(true);
  }
}, 180_000);
