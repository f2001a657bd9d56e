import { afterAll, expect } from "bun:test";
import { rmSync } from "node:fs";
import { rulesetOf } from "../../src/killswitch/ruleset.ts";
import { Store } from "../../src/store/store.ts";
import { LinuxHost } from "../../src/system/linux.ts";
import { needsNamespaces } from "../fast.ts";
import { assigned, POLICIES } from "../killswitch/example.ts";
import { NamespaceHost } from "../namespace-host.ts";
import { newDirectory } from "../tunnel/directory.ts";
import { run } from "./program.ts";

/** Three starts of the program, and nft and ip, on a busy machine. */
const TIMEOUT_MS = 120_000;
const TV = { id: "02:00:00:00:00:05", name: "TV", exit: "direct" };
const NAME = `pcdirect${process.pid}`;
const machine = new LinuxHost();
const stateDir = newDirectory();
afterAll(async () => {
  await machine.run(["ip", "netns", "del", NAME]).catch(() => {});
  rmSync(stateDir, { recursive: true, force: true });
});

needsNamespaces.test(
  "without a service, direct changes the database, and off also takes it out of what a service has left in the kernel",
  async () => {
    await machine.run(["ip", "netns", "add", NAME]);
    const namespace = new NamespaceHost(NAME);
    const direct = (...words: string[]) =>
      run(0, ["direct", ...words, "--state-dir", stateDir, "--interface", `${NAME.slice(0, 9)}w`], {
        namespace: NAME,
      });
    expect(await direct()).toEqual({
      code: 0,
      stdout:
        "The exit direct is not allowed: every device goes through a tunnel, or nowhere.\nTo allow it: sudo portcullis direct on\n",
      stderr: "",
    });
    expect((await direct("on")).stdout).toContain("No device has it yet");
    const store = Store.open(stateDir, 0);
    store.saveDevice(TV);
    store.close();
    expect(JSON.parse((await direct("--json")).stdout)).toEqual({
      allowed: true,
      devices: [{ id: TV.id, name: "TV" }],
    });
    const left = rulesetOf({ ...POLICIES.blocked, devices: [assigned(TV.id, "direct")] });
    await namespace.run(["nft", "-f", "-"], { stdin: left });
    expect(await direct("off")).toMatchObject({ code: 0, stdout: expect.stringContaining("is not allowed") });
    const table = await namespace.run(["nft", "list", "table", "inet", "portcullis"]);
    expect(table).toContain("chain forward");
    expect(table).not.toContain("on_direct");
    expect(await direct("maybe")).toMatchObject({ code: 2 });
  },
  TIMEOUT_MS,
);
