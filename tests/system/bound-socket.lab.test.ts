import { afterAll, beforeAll, expect, test } from "bun:test";
import { join } from "node:path";
import { commandIn } from "../../src/sandbox/namespace.ts";
import { LinuxHost } from "../../src/system/linux.ts";

const HERE = `pc${process.pid}-here`;
const machine = new LinuxHost();
const SOCKETS = join(import.meta.dir, "../../src/system/bound-socket.ts");
/** Less than the kernel waits before it repeats the first packet of a connection. */
const LATE_MS = 300;

beforeAll(async () => {
  await machine.run(["ip", "netns", "add", HERE]);
  await machine.run(["ip", "-n", HERE, "link", "set", "lo", "up"]);
});
afterAll(() => machine.run(["ip", "netns", "delete", HERE]));

/** Sends at once over a connection that opens only when its first packet is repeated, as one over an ocean opens late. */
const SENDER = `
const { openBoundTcp } = await import(${JSON.stringify(SOCKETS)});
const nft = (text) => Bun.spawnSync(["nft", text]);
const server = Bun.listen({ hostname: "127.0.0.1", port: 0, socket: { data: (socket, bytes) => void socket.write(bytes) } });
nft("table inet late { chain in { type filter hook input priority 0; tcp flags & (syn | ack) == syn drop; }; }");
let answer = "";
const ears = { onData: (bytes) => { answer += Buffer.from(bytes); }, onEnd: () => {} };
const socket = await openBoundTcp({ link: "lo", mark: 0, peer: { address: "127.0.0.1", port: server.port } }, ears);
const isTaken = [socket.send(Buffer.from("first, ")), socket.send(Buffer.from("second"))];
setTimeout(() => nft("delete table inet late"), ${LATE_MS});
while (answer.length < 13) await Bun.sleep(10);
console.log(isTaken.join(" "), answer);
process.exit();
`;

test("what is sent before a connection is open waits for it", async () => {
  const sender = Bun.spawn(commandIn(HERE, [process.execPath, "-e", SENDER]), {
    stdin: "ignore",
    stdout: "pipe",
    stderr: "inherit",
    timeout: 30_000,
  });
  expect((await sender.stdout.text()).trim()).toBe("true true first, second");
}, 180_000);
