import { Database } from "bun:sqlite";
import { afterAll, afterEach, beforeAll, expect, setDefaultTimeout, test } from "bun:test";
import {
  closeSync,
  existsSync,
  openSync,
  readdirSync,
  readFileSync,
  statSync,
  writeFileSync,
  writeSync,
} from "node:fs";
import { join } from "node:path";
import fc from "fast-check";
import { CUSTOM_EXAMPLE } from "../../src/http/own-servers.ts";
import { INTERNET, VPN } from "../../src/sandbox/topology.ts";
import { SEED } from "../chance.ts";
import { createLab, type Gateway, type Lab } from "../rig/tools/lab.ts";
import { until } from "../rig/tools/until.ts";
import { BINARY, Client } from "./client.ts";

/** Network namespaces and many starts of the service on a busy machine. */
const TIMEOUT_MS = 240_000;
setDefaultTimeout(TIMEOUT_MS);

let lab: Lab;
/** Holds a mount namespace in which the state directory is a small disk of its own. */
let disk: Bun.Subprocess;
let gateway: Gateway;

beforeAll(async () => {
  lab = await createLab({ cards: 2 });
  disk = Bun.spawn(["unshare", "-m", "sh", "-c", MOUNT, "sh", stateDir()], { stdout: "pipe" });
  await (disk.stdout as ReadableStream).getReader().read();
  gateway = await lab.startGateway({ program: ["nsenter", "-t", `${disk.pid}`, "-m", BINARY] });
}, TIMEOUT_MS);
afterEach(async () => {
  // Whatever stops the service or prevents its start, nothing from the LAN gets out.
  expect(await lab.fetchFrom(lab.namespaces.client, `http://${INTERNET.host4}/`)).toBeNull();
}, TIMEOUT_MS);
afterAll(async () => {
  await lab?.close();
  disk?.kill("SIGKILL");
}, TIMEOUT_MS);

const MOUNT =
  'mkdir -p "$1" && mount -t tmpfs -o size=1m,mode=700 tmpfs "$1" && echo mounted && exec sleep infinity';

const stateDir = () => join(lab.sandbox.directory, "state");
/** The same folder as the service sees it. */
const inside = (...names: string[]) => join(`/proc/${disk.pid}/root`, stateDir(), ...names);
const fresh = () => new Client(gateway.port);
const add = (name: string) => fresh().ask("POST", "/api/custom/add", { ...CUSTOM_EXAMPLE, name });

async function onDisk(script: string): Promise<void> {
  const argv = ["nsenter", "-t", `${disk.pid}`, "-m", "sh", "-c", script, "sh", stateDir()];
  const child = Bun.spawn(argv, { stderr: "pipe" });
  const [code, told] = await Promise.all([child.exited, child.stderr.text()]);
  if (code !== 0) throw new Error(told);
}

async function names(): Promise<string[]> {
  expect((await fresh().ask("POST", "/api/provider/custom")).status).toBe(200);
  const { servers } = (await fresh().ask("GET", "/api/servers")).body;
  const records = Object.values<object>(servers).flatMap((cities) => Object.values(cities).flat());
  return records.map(({ hostname }) => hostname).sort();
}

async function expectKillSwitch(): Promise<void> {
  const { body } = await fresh().ask("GET", "/api/status");
  expect(body).toMatchObject({ connected: false, killswitch_active: true });
  expect(await fresh().ask("GET", "/health")).toEqual({ status: 200, body: "healthy" });
}

test(`what was answered with success is there after SIGKILL (PORTCULLIS_TEST_SEED=${SEED})`, async () => {
  const kept = new Set<string>();
  let provider = "managed";
  for (const [round, count] of fc
    .sample(fc.integer({ min: 1, max: 5 }), { numRuns: 8, seed: SEED })
    .entries()) {
    for (let i = 0; i < count; i++) {
      const name = `${round}-${i}`;
      expect(await add(name)).toEqual({ status: 200, body: { success: true } });
      kept.add(name);
    }
    if (round % 2 === 1) {
      const [gone = ""] = kept;
      expect((await fresh().ask("DELETE", `/api/custom/remove/${gone}`)).status).toBe(200);
      kept.delete(gone);
    }
    provider = ["managed", "imported", "custom"][round % 3] ?? "";
    expect((await fresh().ask("POST", `/api/provider/${provider}`)).status).toBe(200);
    await gateway.kill("SIGKILL");
    await gateway.start();
    expect((await fresh().ask("GET", "/api/providers")).body.current).toBe(provider);
    expect(await names()).toEqual([...kept].sort());
  }
  await expectKillSwitch();
});

test("a change that is in progress when the service is killed is stored completely or not at all", async () => {
  const before = await names();
  const asked = Array.from({ length: 20 }, (_, index) => `under way ${index}`);
  const answers = asked.map(async (name) => ({ name, ok: (await add(name)).status === 200 }));
  await Promise.race(answers);
  await gateway.kill("SIGKILL");
  const accepted = (await Promise.all(answers)).filter(({ ok }) => ok).map(({ name }) => name);
  await gateway.start();
  const after = await names();
  expect(accepted.length).toBeGreaterThan(0);
  expect(after).toEqual(expect.arrayContaining([...before, ...accepted]));
  expect(after.filter((name) => !before.includes(name) && !asked.includes(name))).toEqual([]);
  expect((await fresh().ask("GET", "/api/status")).body.error).toBeNull();
});

const FULL = { success: false, error: "The database could not be written: the disk is full." };

const unsaved = (why: string) =>
  `${why} The gateway works without it, but a restart would lose the changes made meanwhile; it keeps trying to save them.`;

const connect = (server: string) => fresh().ask("POST", "/api/connect", { server });
const disconnect = () => fresh().ask("POST", "/api/disconnect");
const status = async () => (await fresh().ask("GET", "/api/status")).body;
const page = () => lab.fetchFrom(lab.namespaces.client, `http://${INTERNET.host4}/`);
const DONE = { status: 200, body: { success: true } };

test("on a full disk changes are refused and nothing is lost, the tunnel works, and saving resumes when there is room", async () => {
  const before = await names();
  expect((await fresh().ask("POST", "/api/provider/managed")).status).toBe(200);
  await fill();
  const refused = await add("no room");
  expect(refused).toEqual({ status: 500, body: FULL });
  expect((await fresh().ask("POST", "/api/provider/imported")).body).toEqual(FULL);
  expect(await connect("box-vpn-1")).toEqual(DONE);
  expect(await page()).toContain(VPN.vpn1.v4);
  expect((await status()).error).toBe(unsaved(FULL.error));
  expect(await connect("box-vpn-2")).toEqual(DONE);
  expect((await disconnect()).body.error).toBe(unsaved(FULL.error));
  await expectKillSwitch();
  await gateway.kill("SIGTERM");
  // Stopping the service has freed the space of the database's log.
  await fill();
  await gateway.start();
  await expectTable();
  expect(await connect("box-vpn-1")).toEqual(DONE);
  expect(await page()).toContain(VPN.vpn1.v4);
  expect((await status()).error).toEndWith(unsaved("the disk is full."));
  await onDisk('rm "$1"/filling-*');
  await until(async () => (await status()).error === null);
  await gateway.kill("SIGKILL");
  await gateway.start();
  expect(await status()).toMatchObject({ state: "connected", server: "box-vpn-1", error: null });
  expect((await disconnect()).status).toBe(200);
  expect(await names()).toEqual(before);
  await expectKillSwitch();
  expect((await add("room")).status).toBe(200);
  expect(await names()).toEqual([...before, "room"].sort());
});

test("on a full disk what closes takes effect and says that it is not saved, and what opens is refused", async () => {
  const { stdout } = await lab.exec(lab.namespaces.client, ["cat", "/sys/class/net/lan0/address"]);
  const device = `/api/devices/${stdout.trim()}`;
  const give = (path: string, exit: string | null) => fresh().ask("PUT", path, { exit });
  expect((await fresh().ask("POST", "/api/provider/managed")).status).toBe(200);
  expect(await connect("box-vpn-1")).toEqual(DONE);
  expect((await give(device, "main")).status).toBe(200);
  expect(await page()).toContain(VPN.vpn1.v4);
  await fill();
  const inForce = {
    status: 500,
    body: {
      ...FULL,
      error: `${FULL.error} The change is in force, but a restart would undo it: repeat the command when the database can be written.`,
    },
  };
  expect(await give("/api/default-exit", "blocked")).toEqual(inForce);
  expect(await page()).toContain(VPN.vpn1.v4);
  expect(await give(device, "blocked")).toEqual(inForce);
  expect(await page()).toBeNull();
  expect(await give(device, "main")).toEqual({ status: 500, body: FULL });
  expect(await give("/api/default-exit", "main")).toEqual({ status: 500, body: FULL });
  expect(await page()).toBeNull();
  await onDisk('rm "$1"/filling-*');
  await until(async () => (await fresh().ask("DELETE", device)).status === 200);
  expect(await page()).toBeNull();
  await gateway.kill("SIGKILL");
  await gateway.start();
  expect((await fresh().ask("GET", "/api/devices")).body.default_exit).toBe("blocked");
  expect(await page()).toBeNull();
  expect((await give("/api/default-exit", "main")).status).toBe(200);
  expect(await page()).toContain(VPN.vpn1.v4);
  expect((await disconnect()).status).toBe(200);
});

/** Fills the disk to the last byte. */
async function fill(): Promise<void> {
  const file = 'file=$(mktemp "$1/filling-XXXXXX"); dd if=/dev/zero of="$file" bs=512 2>/dev/null;';
  await onDisk(`${file} ! echo more 2>/dev/null >"$file-more"`);
}

test("with a read-only state directory it starts, connects and reports it; it saves as soon as it can", async () => {
  const before = await names();
  expect((await fresh().ask("POST", "/api/provider/managed")).status).toBe(200);
  // The latest changes are only in the database's log.
  await gateway.kill("SIGKILL");
  await onDisk('mount -o remount,ro "$1"');
  await gateway.start();
  expect((await fresh().ask("GET", "/api/providers")).body.current).toBe("managed");
  expect(await connect("box-vpn-1")).toEqual(DONE);
  expect(await page()).toContain(VPN.vpn1.v4);
  const why = "The database could not be opened: the state directory is read-only.";
  expect((await status()).error).toBe(unsaved(why));
  expect((await add("read-only")).body.error).toBe(why);
  expect((await disconnect()).body.error).toBe(unsaved(why));
  await expectKillSwitch();
  await gateway.restart();
  await expectTable();
  expect(await connect("box-vpn-2")).toEqual(DONE);
  await onDisk('mount -o remount,rw "$1"');
  await until(async () => (await status()).error === null);
  await until(() => existsSync(inside("operator.sock")));
  await gateway.kill("SIGKILL");
  await gateway.start();
  expect(await status()).toMatchObject({ state: "connected", server: "box-vpn-2", error: null });
  expect((await disconnect()).status).toBe(200);
  expect(await names()).toEqual(before);
  await expectKillSwitch();
});

async function expectTable(): Promise<void> {
  const { stdout } = await lab.exec(lab.namespaces.gateway, ["nft", "list", "table", "inet", "portcullis"]);
  expect(stdout).toContain("policy drop");
}

test("a damaged database is set aside, an empty one replaces it, and the status says so", async () => {
  await gateway.kill("SIGKILL");
  await onDisk('rm -f "$1"/*-wal "$1"/*-shm');
  const damaged = damage();
  await gateway.start();
  expect(await names()).toEqual([]);
  await expectKillSwitch();
  const { error } = (await fresh().ask("GET", "/api/status")).body;
  expect(error).toStartWith("The database was damaged; it is kept as portcullis.damaged-");
  const aside = readdirSync(inside()).filter((name) => name.startsWith("portcullis.damaged-"));
  expect(aside.map((name) => readFileSync(inside(name)).equals(damaged))).toEqual([true]);
  expect((await add("after")).status).toBe(200);
  await gateway.restart();
  expect(await names()).toEqual(["after"]);
});

test("with a database of a newer version the service does not start, and the kill switch is in place", async () => {
  // It leaves no log.
  await gateway.kill("SIGTERM");
  await lab.exec(lab.namespaces.gateway, ["nft", "flush", "ruleset"]);
  const current = readFileSync(inside("portcullis.db"));
  writeFileSync(inside("portcullis.db"), newer(current));
  // systemd does not start it again after this exit code.
  await expect(gateway.start()).rejects.toThrow(
    /\(78\):\n.*portcullis: The database is of a newer version of Portcullis and stays as it is\./s,
  );
  await expectTable();
  const own = ["--interface", lab.sandbox.interface];
  const { code, stdout, stderr } = await gateway.operate("killswitch", "status", ...own);
  expect([code, stdout.split("\n")[0]]).toEqual([
    0,
    "The kill switch is in place: nothing reaches the internet outside the tunnel.",
  ]);
  expect(stderr).toStartWith("portcullis: The database is of a newer version of Portcullis");
  writeFileSync(inside("portcullis.db"), current);
  await gateway.start();
  expect(await names()).toEqual(["after"]);
});

/** The database as a newer version might leave it; changed elsewhere, for SQLite looks for a file outside the mount. */
function newer(database: Buffer): Buffer {
  const copy = join(lab.sandbox.directory, "newer.db");
  writeFileSync(copy, database);
  const opened = new Database(copy);
  opened.run("CREATE TABLE added (a)");
  opened.run("PRAGMA user_version = 99");
  opened.close();
  return readFileSync(copy);
}

/** Overwrites the middle of the database; returns the result. */
function damage(): Buffer {
  const file = inside("portcullis.db");
  const descriptor = openSync(file, "r+");
  writeSync(descriptor, "x".repeat(5_000), statSync(file).size / 2);
  closeSync(descriptor);
  return readFileSync(file);
}
