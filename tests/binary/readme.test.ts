import { afterAll, beforeAll, expect, test } from "bun:test";
import { writeFileSync } from "node:fs";
import { join } from "node:path";
import { createLab, type Gateway, type Lab } from "../lab/lab.ts";
import { BINARY, Client } from "./client.ts";

/** Network namespaces and a connect for each row on a busy machine. */
const TIMEOUT_MS = 240_000;
const README = await Bun.file(join(import.meta.dir, "../../README.md")).text();

let lab: Lab;
let gateway: Gateway;

beforeAll(async () => {
  lab = await createLab({ arms: 2 });
  gateway = await lab.startGateway({ program: [BINARY] });
}, TIMEOUT_MS);
afterAll(() => lab?.close(), TIMEOUT_MS);

/** The rows of the table of commands: what to type, and what comes. */
function rows(): { command: string; answer: string }[] {
  return [...README.matchAll(/^\| `(curl [^|]*)` \| `([^`]*)`.*\|$/gm)].map(
    ([, command = "", answer = ""]) => ({
      command,
      answer,
    }),
  );
}

/** The shell's variables, as the block before the table sets them, for this gateway's port. */
function variables(): string {
  const [, block = ""] = /```sh\n(api=.*?)```/s.exec(README) ?? [];
  return block.replaceAll(":5000", `:${gateway.port}`);
}

async function typed(command: string): Promise<string> {
  const { address } = new Client(gateway.port);
  // Each row from an address of its own, so that no limit is in the way.
  writeFileSync(join(lab.sandbox.directory, ".curlrc"), `interface = ${address}\n`);
  const script = `${variables()}\n${command.replace(":5000", `:${gateway.port}`)}`;
  const child = Bun.spawn(["bash", "-c", script], {
    cwd: lab.sandbox.directory,
    env: { ...process.env, CURL_HOME: lab.sandbox.directory },
    stdout: "pipe",
    stderr: "ignore",
  });
  return child.stdout.text();
}

/** An answer in the README may leave things out with … */
function patternOf(answer: string): RegExp {
  return new RegExp(`^${answer.split("…").map(RegExp.escape).join("[^]*")}$`);
}

test(
  "each command in the README gives the answer that stands beside it",
  async () => {
    const all = rows();
    expect(all.length).toBeGreaterThanOrEqual(11);
    for (const { command, answer } of all) {
      // As the box is when it is used for the first time.
      const client = new Client(gateway.port);
      await client.ask("POST", "/api/provider/managed");
      expect((await client.ask("POST", "/api/connect", { server: "box-vpn-1" })).status).toBe(200);
      expect({ command, answer: await typed(command) }).toEqual({
        command,
        answer: expect.stringMatching(patternOf(answer)),
      });
    }
  },
  TIMEOUT_MS,
);
