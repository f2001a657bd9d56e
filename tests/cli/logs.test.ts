import { expect, test } from "bun:test";
import { GatewayError } from "../../src/base/errors.ts";
import { showLogs } from "../../src/cli/logs.ts";
import type { Child } from "../../src/system/linux.ts";

test("logs shows the journal of the service's unit", async () => {
  const started: (readonly string[])[] = [];
  const spawn = (argv: readonly string[]): Child => {
    started.push(argv);
    return { pid: 1, exited: Promise.resolve(0), kill: () => {} };
  };
  expect(await showLogs({ spawn }, { lines: "100" })).toBe(0);
  await showLogs({ spawn }, { lines: "all", follow: true, json: true });
  const common = ["journalctl", "--unit=portcullis.service", "--no-pager", "--no-hostname"];
  expect(started).toEqual([
    [...common, "--lines=100"],
    [...common, "--lines=all", "--follow", "--output=json"],
  ]);
});

test("without a journal the message says where the log is; an invalid number of lines is refused", async () => {
  const spawn = () => {
    throw new GatewayError("unable", "journalctl cannot be started: is it installed?");
  };
  await expect(showLogs({ spawn }, { lines: "100" })).rejects.toThrow("this machine has no journal");
  await expect(showLogs({ spawn }, { lines: "1; reboot" })).rejects.toThrow("--lines");
});
