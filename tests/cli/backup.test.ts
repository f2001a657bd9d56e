import { expect, setDefaultTimeout, test } from "bun:test";
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { plain } from "../../src/backup/envelope.ts";
import { Store } from "../../src/store/store.ts";
import { SERVER } from "../servers/example.ts";
import { run } from "./program.ts";

// Starting the program takes half a second, and ten times that on a busy machine.
setDefaultTimeout(60_000);

const BACKUP = plain({
  created: "2026-01-02T03:04:05.006Z",
  servers: [SERVER],
  settings: { killswitch: "off" },
});

test("restore leaves the kill switch on and says so; --killswitch-off turns it off", async () => {
  const stateDir = mkdtempSync(join(tmpdir(), "portcullis-cli-backup-"));
  const restore = (...flags: string[]) =>
    run(1, ["restore", "--state-dir", stateDir, ...flags], { stdin: BACKUP });
  const stored = () => {
    const store = Store.open(stateDir, 0);
    const killswitch = store.read("killswitch");
    store.close();
    return killswitch;
  };
  const alone = "No service is running; it will use this state when it starts.\n";
  expect(await restore()).toEqual({
    code: 0,
    stdout: `Restored 1 server and the settings.\n${alone}The backup was made while the kill switch was off; here it stays on. To turn it off: portcullis killswitch off\n`,
    stderr: "",
  });
  expect(stored()).toBe("on");
  const { stdout } = await restore("--replace", "--killswitch-off", "--json");
  expect(JSON.parse(stdout)).toEqual({
    success: true,
    servers: 1,
    replaced: 1,
    devices: 0,
    killswitch: "off",
  });
  expect(stored()).toBe("off");
  expect((await restore("--replace")).stdout).toEndWith(
    "The kill switch is off. To turn it on: portcullis killswitch on\n",
  );
  rmSync(stateDir, { recursive: true });
});
