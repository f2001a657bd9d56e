import { afterAll, expect, setDefaultTimeout } from "bun:test";
import { rmSync } from "node:fs";
import type { TestResult } from "../../src/notifications/schema.ts";
import { answerOperator, type OperatorAnswers } from "../../src/operator/operator.ts";
import { needsRoot } from "../fast.ts";
import { newDirectory } from "../tunnel/directory.ts";
import { run } from "./program.ts";

/** A start of the program on a busy machine. */
const TIMEOUT_MS = 240_000;
setDefaultTimeout(TIMEOUT_MS);
const stateDir = newDirectory();
let results: TestResult[] = [];
const clock = { sleep: (ms: number) => Bun.sleep(ms) };
const answers = { "notify/test": async () => results } as unknown as OperatorAnswers;
const service = answerOperator(stateDir, answers, { clock, log: { warn: () => {} } });
afterAll(() => {
  service.stop();
  rmSync(stateDir, { recursive: true, force: true });
});

const SENT = { target: "ntfy at ntfy.sh", sent: true, error: null };
const FAILED = { target: "gotify at 192.168.7.5:8080", sent: false, error: "it answered 401" };
const tried = (...words: string[]) => run(0, ["notify", "test", "--state-dir", stateDir, ...words]);

needsRoot.test(
  "notify test says for each address what became of the message, and fails unless all were taken",
  async () => {
    results = [SENT];
    expect(await tried()).toEqual({ code: 0, stdout: "ntfy at ntfy.sh: sent\n", stderr: "" });
    results = [SENT, FAILED];
    expect(await tried()).toEqual({
      code: 1,
      stdout: "ntfy at ntfy.sh: sent\ngotify at 192.168.7.5:8080: it answered 401\n",
      stderr: "",
    });
    expect(JSON.parse((await tried("--json")).stdout)).toEqual({ success: false, targets: results });
  },
);

needsRoot.test("without an address, or without a service, notify test says what to do", async () => {
  results = [];
  expect(await tried()).toMatchObject({
    code: 1,
    stdout:
      "The service has no address to send notifications to; set --notify (PORTCULLIS_NOTIFY), and restart it.\n",
  });
  expect(await run(0, ["notify", "test", "--state-dir", `${stateDir}/none`])).toMatchObject({
    code: 1,
    stderr: "portcullis: the service, which sends the notifications, is not running; start it first\n",
  });
});
