import { closeSync, openSync } from "node:fs";
import { mustParseAddress } from "../../src/base/address.ts";
import { RELAY_MARK } from "../../src/network/slot.ts";
import { libc } from "../../src/system/libc.ts";
import { RelayThread } from "../../src/system/relay/relay-thread.ts";

/** Opens a relay without a free file descriptor, then with some, and says what came of it. Run with a low limit. */
const KEY = new Uint8Array(32).toBase64();
const way = { by: "lwo", serverKey: KEY, ownKey: KEY } as const;
const place = { mark: RELAY_MARK, address: mustParseAddress("127.0.0.1"), port: 9, way };
const thread = new RelayThread(import.meta.resolve("../../src/system/relay/datagram-worker.ts"), true);

async function say(): Promise<void> {
  const said = await thread.open(place).then(
    () => "open",
    (error) => `${error.code}: ${error.message}`,
  );
  console.log(said);
}

// It is a file, too, and is loaded by now.
libc();
const files: number[] = [];
try {
  for (;;) files.push(openSync("/dev/null", "r"));
} catch {
  // No descriptor is free.
}
await say();
for (const file of files) closeSync(file);
await say();
process.exit();
