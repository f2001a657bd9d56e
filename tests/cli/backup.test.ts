import { expect, setDefaultTimeout } from "bun:test";
import { mkdtempSync, readdirSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { plain } from "../../src/backup/envelope.ts";
import { Store } from "../../src/store/store.ts";
import { needsRoot } from "../fast.ts";
import { SERVER } from "../servers/example.ts";
import { run } from "./program.ts";

// Starting the program takes half a second, and ten times that on a busy machine.
setDefaultTimeout(240_000);

const BACKUP = plain({
  created: "2026-01-02T03:04:05.006Z",
  servers: [SERVER],
  settings: { killswitch: "off" },
});

needsRoot.test("restore leaves the kill switch on and says so; --killswitch-off turns it off", async () => {
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
    stderr:
      "The restore changes the following; everything else stays as it is:\n  server home (own): new, 192.0.2.1:51820\n",
  });
  expect(stored()).toBe("on");
  const { stdout } = await restore("--replace", "--killswitch-off", "--json");
  expect(JSON.parse(stdout)).toEqual({
    success: true,
    servers: 1,
    replaced: 0,
    devices: 0,
    killswitch: "off",
  });
  expect(stored()).toBe("off");
  expect((await restore("--replace")).stdout).toEndWith(
    "The kill switch is off. To turn it on: portcullis killswitch on\n",
  );
  rmSync(stateDir, { recursive: true });
});

const TV = { id: "02:00:00:00:00:20", name: "TV", exit: "amsterdam" };
const PHONE = { id: "02:00:00:00:00:30", name: null, exit: "blocked" };

needsRoot.test("restore tells first all that it changes; --dry-run changes nothing", async () => {
  const stateDir = mkdtempSync(join(tmpdir(), "portcullis-cli-backup-"));
  const to = (name: string, wanted?: string) => ({
    provider: "managed" as const,
    name,
    since: 1,
    ...(wanted && { wanted }),
  });
  const backup = plain({
    created: "2026-01-02T03:04:05.006Z",
    servers: [SERVER],
    settings: { connection: JSON.stringify(to("se-1", "Sweden")), default_exit: "blocked" },
    tunnels: [
      { name: "amsterdam", connection: to("nl-1") },
      { name: "same", connection: to("de-1") },
      { name: "work", connection: null },
    ],
    devices: [TV, PHONE, { id: "02:00:00:00:00:40", name: "Printer", exit: null }],
  });
  const restore = (...flags: string[]) =>
    run(1, ["restore", "--state-dir", stateDir, ...flags], { stdin: backup });
  expect(await restore("--dry-run")).toMatchObject({ code: 0, stderr: "" });
  expect(readdirSync(stateDir)).toEqual([]);

  const store = Store.open(stateDir, 0);
  store.saveDevice({ ...TV, name: "Television", exit: null });
  store.saveDevice(PHONE);
  store.saveDevice({ id: "02:00:00:00:00:50", name: "stays", exit: null });
  store.write("tunnel amsterdam", JSON.stringify({ slot: 1, connection: to("nl-2") }));
  store.write("tunnel same", JSON.stringify({ slot: 2, connection: to("de-1") }));
  const before = [store.devices(), store.settings(), store.servers()];
  store.close();
  const changes = `The restore changes the following; everything else stays as it is:
  default exit: main → blocked
  tunnel main: no server → se-1 (account, for Sweden)
  tunnel amsterdam: nl-2 (account) → nl-1 (account)
  tunnel work: new, no server
  device Television (02:00:00:00:00:20): named Television, exit default → named TV, exit amsterdam
  device Printer (02:00:00:00:00:40): new, named Printer, exit default
  server home (own): new, 192.0.2.1:51820
`;
  expect(await restore("--dry-run")).toEqual({ code: 0, stdout: changes, stderr: "" });
  expect(JSON.parse((await restore("--dry-run", "--json")).stdout)).toMatchObject({
    success: true,
    changes: expect.arrayContaining([
      { what: "default exit", name: "", before: "main", after: "blocked", replaces: false },
    ]),
  });
  const refused = await restore();
  expect(refused).toMatchObject({
    code: 1,
    stdout: "",
    stderr: `${changes}portcullis: the restore would replace what is here: the tunnel amsterdam, the device Television (02:00:00:00:00:20); nothing was changed; pass --replace to allow that\n`,
  });
  const after = Store.open(stateDir, 0);
  expect([after.devices(), after.settings(), after.servers()]).toEqual(before);
  after.close();
  expect(await restore("--replace")).toMatchObject({ code: 0, stderr: changes });
  expect((await restore("--dry-run")).stdout).toBe("The restore changes nothing.\n");
  rmSync(stateDir, { recursive: true });
});
