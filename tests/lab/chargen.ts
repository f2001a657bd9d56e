import { createServer } from "node:net";
import { INTERNET } from "../../src/sandbox/topology.ts";
import { commandIn } from "../../src/system/linux.ts";
import type { Lab } from "./lab.ts";

/** RFC 864. */
export const CHARGEN_PORT = 19;
/** About 0.4 MB a second for each client: a download that a busy machine can keep up with. */
const CHUNK_BYTES = 4_096;
const EVERY_MS = 10;

/** Sends to each client of the lab's internet for as long as it stays; ends with the lab. */
export async function startChargen(lab: Lab): Promise<void> {
  const argv = commandIn(lab.namespaces.internet, [process.execPath, import.meta.path]);
  const child = Bun.spawn(argv, { stdin: "ignore", stdout: "pipe", stderr: "inherit" });
  await child.stdout.getReader().read();
}

function serve(): void {
  const chunk = Buffer.alloc(CHUNK_BYTES, "chargen ");
  const server = createServer((socket) => {
    const timer = setInterval(() => {
      if (!socket.writableNeedDrain) socket.write(chunk);
    }, EVERY_MS);
    socket.on("error", () => socket.destroy());
    socket.on("close", () => clearInterval(timer));
    socket.resume();
  });
  server.listen(CHARGEN_PORT, INTERNET.host4, () => console.log("ready"));
}

if (import.meta.main) serve();
