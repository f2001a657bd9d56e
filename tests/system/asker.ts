import { messageOf } from "../../src/base/errors.ts";
import { ask } from "../../src/system/https.ts";

/** Sends the request on standard input, and prints what comes of it. */
const outcome = await ask(JSON.parse(await Bun.stdin.text())).then(
  (answer) => ({ answer }),
  (error: unknown) => ({ fault: messageOf(error) }),
);
process.stdout.write(JSON.stringify(outcome));
