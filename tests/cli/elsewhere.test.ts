import { expect, setDefaultTimeout, test } from "bun:test";
import { existsSync } from "node:fs";
import { join } from "node:path";
import { LinuxHost } from "../../src/system/linux.ts";
import { needsNamespaces } from "../fast.ts";
import { inDirectory } from "../tunnel/directory.ts";
import { run } from "./program.ts";

setDefaultTimeout(240_000);

const COMMANDS = [
  ["killswitch", "status"],
  ["killswitch", "off"],
  ["token", "list"],
  ["check", "--report"],
  ["direct"],
  ["export", "--plain"],
];

test.each(COMMANDS.map((command) => [command.join(" "), command]))(
  "%s answers for no other gateway than its own, and says so",
  (_, command) =>
    inDirectory(async (directory) => {
      const stateDir = join(directory, "state");
      const env = { PORTCULLIS_URL: "http://192.0.2.7:5000" };
      const { code, stderr, stdout } = await run(0, [...command, "--state-dir", stateDir], { env });
      expect({ code, stderr, stdout }).toEqual({
        code: 1,
        stdout: "",
        stderr:
          "portcullis: this command is for the gateway that it runs on, but PORTCULLIS_URL names http://192.0.2.7:5000; run it on that gateway, or here without PORTCULLIS_URL\n",
      });
      expect(existsSync(stateDir)).toBe(false);
    }),
);

const NAME = `pcnone${process.pid}`;

needsNamespaces.test(
  "killswitch status on a machine that is no gateway says so, and leaves nothing behind",
  () =>
    inDirectory(async (directory) => {
      const stateDir = join(directory, "state");
      const machine = new LinuxHost();
      await machine.run(["ip", "netns", "add", NAME]);
      try {
        const answer = await run(0, ["killswitch", "status", "--state-dir", stateDir], { namespace: NAME });
        expect(answer).toMatchObject({ code: 1, stderr: "" });
        expect(answer.stdout).toStartWith(
          "The kill switch is off: traffic might leave outside the tunnel.\n",
        );
        expect(answer.stdout).toContain(
          "NO  direct devices       nothing keeps any device inside the tunnel\n",
        );
        expect(existsSync(stateDir)).toBe(false);
      } finally {
        await machine.run(["ip", "netns", "del", NAME]);
      }
    }),
);
