import { expect, spyOn, test } from "bun:test";
import { Log } from "../../src/base/log.ts";

test("a message is one line, however long it is and whatever others have put into it", () => {
  const written: string[] = [];
  const stderr = spyOn(process.stderr, "write").mockImplementation((text) => written.push(`${text}`) > 0);
  try {
    const log = new Log("info");
    log.warn("a backup of 2026\nerror: forged\r\u001b[2J\u0085\u202ereversed\u2028x \ud800");
    log.info(`${"x".repeat(100_000)}\nerror: forged`);
    log.info("Ärger mit é und 👩‍👩‍👧");
  } finally {
    stderr.mockRestore();
  }
  expect(written[0]).toBe(
    "warn: a backup of 2026\\nerror: forged\\u000d\\u001b[2J\\u0085\\u202ereversed\\u2028x \ufffd\n",
  );
  expect(written[1]).toBe(`info: ${"x".repeat(7_999)}…\n`);
  expect(written[2]).toBe("info: Ärger mit é und 👩‍👩‍👧\n");
});
