import { createServer } from "node:net";
import { commandIn } from "../../../src/sandbox/namespace.ts";
import { INTERNET } from "../../../src/sandbox/topology.ts";
import type { Lab } from "./lab.ts";

/** RFC 864. */
export const CHARGEN_PORT = 19;
/** About 0.4 MB a second for each client unless it is slower: a download that a busy machine can keep up with. */
const CHUNK_BYTES = 4_096;
const EVERY_MS = 10;

/** Sends to each client of the lab's internet for as long as it stays; ends with the lab. */
export async function startChargen(lab: Lab, slower = 1): Promise<void> {
  const program = [process.execPath, import.meta.path, `${slower * EVERY_MS}`];
  const argv = commandIn(lab.namespaces.internet, program);
  const child = Bun.spawn(argv, { stdin: "ignore", stdout: "pipe", stderr: "inherit" });
  await child.stdout.getReader().read();
}

function serve(everyMs: number): void {
  const chunk = Buffer.alloc(CHUNK_BYTES, "chargen ");
  const server = createServer((socket) => {
    const timer = setInterval(() => {
      if (!socket.writableNeedDrain) socket.write(chunk);
    }, everyMs);
    socket.on("error", () => socket.destroy());
    socket.on("close", () => clearInterval(timer));
    socket.resume();
  });
  server.listen(CHARGEN_PORT, INTERNET.host4, () => console.log("ready"));
}

if (import.meta.main) serve(Number(process.argv[2]));
