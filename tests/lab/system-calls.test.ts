import { afterAll, beforeAll, expect, setDefaultTimeout } from "bun:test";
import { readFileSync } from "node:fs";
import { join } from "node:path";
import { serviceUnit } from "../../src/install/units.ts";
import { INTERNET } from "../../src/sandbox/topology.ts";
import { long } from "../fast.ts";
import { createLab, type Lab } from "../rig/tools/lab.ts";
import { askGateway } from "../rig/tools/question.ts";
import { until } from "../rig/tools/until.ts";

const { test } = long("each case of what other labs show in passing");

/** Under `strace` everything takes ten times as long, also on a busy machine. */
setDefaultTimeout(180_000);

/** SQLite gives its log the owner of the database, which has the same owner. */
const DONE_WITHOUT: string[] = ["fchown"];

let lab: Lab;
beforeAll(async () => {
  lab = await createLab({ cards: 2 });
});
afterAll(() => lab?.close());

test("the unit's filter permits each system call of the service and of the programs that it starts", async () => {
  const trace = join(lab.sandbox.directory, "trace");
  const starter = ["strace", "-D", "-f", "-qq", "-e", "signal=none", "-o", trace];
  const gateway = await lab.startGateway({ starter });
  const server = "box-vpn-1";
  await until(async () => (await gateway.api("POST", "/api/connect", { server })).status === 200);
  // Its addresses are handed to the kernel by a thread of libc.
  const rule = { names: ["internet.test"], exit: "main" };
  expect((await gateway.api("POST", "/api/destinations", rule)).status).toBe(200);
  await until(
    async () => (await askGateway(lab.namespaces.client, "www.internet.test"))[0] === INTERNET.host4,
  );
  await lab.exec(lab.namespaces.gateway, ["nft", "delete", "table", "inet", "portcullis"]);
  await until(async () => (await gateway.api("GET", "/health")).status === 200);
  await gateway.kill("SIGTERM");
  const calls = () =>
    new Set(
      [...readFileSync(trace, "latin1").matchAll(/^\d+ +([a-z_0-9]+)\(/gm)].map(([, name = ""]) => name),
    );
  // The programs that report the kernel's changes need it, and the service calls the other one when it ends.
  await until(() => calls().has("capset") && calls().has("exit_group"));
  const made = calls();
  expect(made).toContain("sched_getparam");
  const permitted = await permittedBy(serviceUnit("/usr/local/bin/portcullis"));
  expect([...made.difference(permitted)].toSorted()).toEqual(DONE_WITHOUT);
});

/** The system calls that a unit's lines `SystemCallFilter=` permit, one after another (systemd.exec(5)). */
async function permittedBy(unit: string): Promise<ReadonlySet<string>> {
  let permitted: ReadonlySet<string> = new Set();
  for (const [, not, words = ""] of unit.matchAll(/^SystemCallFilter=(~?)(.*)$/gm)) {
    const named = new Set((await Promise.all(words.split(" ").map(callsOf))).flat());
    permitted = not === "" ? permitted.union(named) : permitted.difference(named);
  }
  return permitted;
}

/** The system calls of a set; a name without `@` is one. */
async function callsOf(name: string): Promise<string[]> {
  if (!name.startsWith("@")) return [name];
  const { stdout } = await lab.outside(["systemd-analyze", "syscall-filter", name]);
  const names = [...stdout.matchAll(/^ +([@a-z_0-9][-a-z_0-9]*)$/gm)].map(([, inner = ""]) => inner);
  return (await Promise.all(names.map(callsOf))).flat();
}
