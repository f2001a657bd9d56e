import { afterAll, beforeAll, beforeEach, expect, test } from "bun:test";
import { writeFileSync } from "node:fs";
import { join } from "node:path";
import { LAN } from "../../src/sandbox/topology.ts";
import { createLab, type Gateway, type GatewayOptions, type Lab } from "../rig/tools/lab.ts";
import { PROGRAM } from "../rig/tools/program.ts";
import { patiently } from "../rig/tools/retried.ts";

/** Network namespaces, a gateway and its restarts, on a busy machine. */
const TIMEOUT_MS = 240_000;

let lab: Lab;
let gateway: Gateway;
const options: GatewayOptions = {};
let phone = "";
let guest = "";

const flagsFor = (auth: string) => ["--host", "::", "--auth", auth];

beforeAll(async () => {
  lab = await createLab({ cards: 2, computers: 3 });
  options.flags = flagsFor("on");
  gateway = await lab.startGateway(options);
  await gateway.keep();
  const [laptop, tv] = lab.sandbox.computers;
  phone = laptop?.namespace ?? "";
  guest = tv?.namespace ?? "";
}, TIMEOUT_MS);
afterAll(() => lab?.close(), TIMEOUT_MS);

beforeEach(async () => {
  options.flags = flagsFor("on");
  await gateway.reset();
}, TIMEOUT_MS);

/** The status code of a request from a computer of the LAN; the token is in a file, as it should be. */
async function code(namespace: string, method: string, path: string, token?: string): Promise<number> {
  const header = join(lab.sandbox.directory, "header");
  writeFileSync(header, token === undefined ? "" : `Authorization: Bearer ${token}\n`, { mode: 0o600 });
  const url = `http://${LAN.gateway4}:${gateway.port}${path}`;
  const shown = "%{http_code} %header{retry-after}";
  const argv = ["curl", "-s", "-m", "60", "-o", "/dev/null", "-w", shown, "-H", `@${header}`];
  const { status } = await patiently(async () => {
    const { stdout } = await lab.exec(namespace, [...argv, "-X", method, url]);
    const [code, seconds] = stdout.split(" ");
    return { status: Number(code), headers: new Headers(seconds ? { "Retry-After": seconds } : {}) };
  });
  return status;
}

async function made(...words: string[]): Promise<string> {
  const { code: exit, stdout, stderr } = await gateway.operate("token", "add", ...words);
  expect({ exit, stderr }).toEqual({ exit: 0, stderr });
  return stdout.trim();
}

/** Root's own command on the gateway, or a command of another computer. */
const portcullis = (namespace: string, host: string, ...words: string[]) =>
  lab.exec(namespace, [
    ...["env", `PORTCULLIS_STATE_DIR=${join(lab.sandbox.directory, "state")}`],
    ...[...PROGRAM, ...words, "--url", `http://${host}:${gateway.port}`],
  ]);

const CHANGE = ["POST", "/api/disconnect"] as const;

test(
  "the guest is refused, the phone is admitted, and root needs no token on the gateway itself",
  async () => {
    expect(gateway.log()).toContain(
      "warn: there is no token yet; make one for each client: sudo portcullis token add <name>",
    );
    const token = await made("phone");
    const reader = await made("monitor", "--read-only");
    for (const path of ["/api/status", "/metrics", "/ws", "/swagger/json"])
      expect({ path, code: await code(guest, "GET", path) }).toEqual({ path, code: 401 });
    expect(await code(guest, "GET", "/health")).toBe(200);
    expect(await code(guest, "GET", "/")).toBe(200);
    expect(await code(guest, ...CHANGE)).toBe(401);
    expect(await code(phone, "GET", "/api/status", token)).toBe(200);
    expect(await code(phone, ...CHANGE, token)).toBe(200);
    expect(await code(phone, "GET", "/metrics", reader)).toBe(200);
    expect(await code(phone, ...CHANGE, reader)).toBe(403);

    const inside = lab.namespaces.gateway;
    expect(await portcullis(inside, "127.0.0.1", "status")).toMatchObject({ code: 0, stderr: "" });
    // The service does not answer at this address for root's commands: it could be another program's.
    expect(await portcullis(inside, LAN.gateway4, "status")).toMatchObject({ code: 1 });
    expect(await portcullis(guest, LAN.gateway4, "status")).toMatchObject({
      code: 1,
      stderr: expect.stringContaining("a token is needed"),
    });
  },
  TIMEOUT_MS,
);

test(
  "a token is valid after a restart; once it is removed, nobody is admitted until root makes another",
  async () => {
    const token = await made("tablet");
    await gateway.restart();
    expect(await code(phone, "GET", "/api/status", token)).toBe(200);
    const { tokens } = JSON.parse((await gateway.operate("token", "list", "--json")).stdout);
    for (const { name } of tokens)
      expect(await gateway.operate("token", "remove", name)).toMatchObject({ code: 0 });
    expect(await code(phone, "GET", "/api/status", token)).toBe(401);
    expect(await code(phone, "GET", "/api/status", await made("phone"))).toBe(200);
  },
  TIMEOUT_MS,
);

test(
  "with --auth write the guest reads and changes nothing; with off tokens are not looked at",
  async () => {
    const token = await made("laptop");
    options.flags = flagsFor("write");
    await gateway.restart();
    expect(await code(guest, "GET", "/api/status")).toBe(200);
    expect(await code(guest, ...CHANGE)).toBe(401);
    expect(await code(phone, ...CHANGE, token)).toBe(200);
    expect(await code(phone, "GET", "/api/status", "wrong")).toBe(401);
    options.flags = flagsFor("off");
    await gateway.restart();
    expect(await code(guest, ...CHANGE)).toBe(200);
    expect(await code(guest, "GET", "/api/status", "wrong")).toBe(200);
    expect(gateway.log()).not.toMatch(/portcullis_[0-9a-z]{26}/);
  },
  TIMEOUT_MS,
);
