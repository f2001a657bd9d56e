import { afterAll, beforeAll, expect, test } from "bun:test";
import { readdirSync, readFileSync, statSync } from "node:fs";
import { join } from "node:path";
import { createLab, type Gateway, type Lab } from "../rig/tools/lab.ts";
import { BINARY, Client } from "./client.ts";
import { Processes } from "./processes.ts";

/** Network namespaces, eight connects and a failing one on a busy machine. */
const TIMEOUT_MS = 240_000;

let lab: Lab;
let gateway: Gateway;
let processes: Processes;
/** The whole text of each answer. */
const answers: string[] = [];
/** The private and preshared keys that were sent. */
let secrets: string[];
/** The private key of GET /api/keypair, and its answer. */
let fresh: { key: string; answer: string };

beforeAll(async () => {
  lab = await createLab({ cards: 2 });
  const { servers, files } = lab.sandbox;
  secrets = [
    readFileSync(files.managedKey, "utf8").trim(),
    ...servers.flatMap(({ custom, imported }) => [
      custom.privateKey,
      imported.privateKey,
      imported.presharedKey,
    ]),
  ];
  processes = new Processes();
  gateway = await lab.startGateway({ program: [BINARY], flags: ["--log-level", "debug"] });
  await session();
  await gateway.restart();
  await send("GET", "/api/status");
  await processes.stop();
}, TIMEOUT_MS);
afterAll(async () => {
  await processes?.stop();
  await lab?.close();
}, TIMEOUT_MS);

async function send(method: string, path: string, body?: unknown): Promise<{ status: number; text: string }> {
  const json = body === undefined || typeof body === "string" ? body : JSON.stringify(body);
  const { status, text, headers } = await new Client(gateway.port).send(method, path, json);
  answers.push(`${JSON.stringify([...headers])} ${text}`);
  return { status, text };
}

/** Everything that clients do, and many of their mistakes. */
async function session(): Promise<void> {
  const [first, second] = lab.sandbox.servers;
  const ok = async (...request: Parameters<typeof send>) => {
    const { status, text } = await send(...request);
    expect({ request, status, text }).toMatchObject({ request, status: 200 });
    return text;
  };
  for (const server of [first, second]) {
    await ok("POST", "/api/custom/add", {
      ...server.customBody,
      preshared_key: server.imported.presharedKey,
    });
    await ok("POST", "/api/import", server.importBody);
    await send("POST", "/api/custom/add", server.customBody);
    await send("POST", "/api/import", server.importBody);
    for (const [field, value] of Object.entries(server.customBody)) {
      await send("POST", "/api/custom/add", { ...server.customBody, [field]: [value] });
      await send("POST", "/api/custom/add", { ...server.customBody, [field]: `${value}/${value}` });
    }
    const config = server.importBody.config;
    for (const wrong of [
      config.replace("PrivateKey", "Key"),
      config.replace("[Peer]", ""),
      `${config}${config}`,
    ]) {
      await send("POST", "/api/import", { name: "x", config: wrong });
    }
    await send("POST", "/api/import", JSON.stringify(server.importBody).slice(0, -2));
    await send("POST", `/api/connect`, { server: server.custom.privateKey });
  }
  for (const [provider, exits] of [
    ["managed", ["box-vpn-1", "box-vpn-2"]],
    ["imported", ["import-1", "import-2"]],
  ] as const) {
    await ok("POST", `/api/provider/${provider}`);
    for (const server of exits) await ok("POST", "/api/connect", { server });
    await ok("GET", "/api/servers");
    await ok("GET", "/api/status");
  }
  await ok("POST", "/api/provider/custom");
  await ok("GET", "/api/servers");
  // The server does not know this preshared key, so the handshake fails and the log says why.
  expect((await send("POST", "/api/connect", { server: "custom-1" })).status).toBe(500);
  await ok("POST", "/api/disconnect");
  await ok("DELETE", "/api/custom/remove/custom-2");
  const answer = await ok("GET", "/api/keypair");
  fresh = { key: JSON.parse(answer).private_key, answer };
  for (const path of ["/health", "/swagger", "/swagger/json", "/metrics", "/nope"]) await send("GET", path);
}

/** In base64, and in the form of WireGuard's socket. */
function spellings(keys: readonly string[]): string[] {
  return keys.flatMap((key) => [key, Uint8Array.fromBase64(key).toHex()]);
}

function found(texts: Iterable<string>, keys: readonly string[]): string[] {
  const words = spellings(keys);
  return [...texts].filter((text) => words.some((word) => text.includes(word)));
}

test("no answer contains a private or preshared key, except the one that makes a key pair", () => {
  expect(answers.length).toBeGreaterThan(60);
  expect(found(answers, secrets)).toEqual([]);
  expect(found(answers, [fresh.key])).toHaveLength(1);
});

test("the log contains no key; of a request it has method, path, status and time", () => {
  const log = gateway.log();
  // A client could put a key into a path; none does here.
  expect(found([log], [...secrets, fresh.key])).toEqual([]);
  const requests = log.split("\n").filter((line) => line.startsWith("debug: "));
  expect(requests.length).toBeGreaterThan(60);
  expect(requests.filter((line) => !/^debug: [A-Z]+ \/\S* \d{3} [0-9.]+ ms$/.test(line))).toEqual([]);
});

test("no key is ever on a command line or in an environment of any process", () => {
  // Positive control: the collection is fast enough to see the programs that bring a tunnel up.
  expect([...processes.commandLines].some((line) => line.includes("wireguard-go"))).toBe(true);
  expect(found(processes.commandLines, [...secrets, fresh.key])).toEqual([]);
  expect(found(processes.environments, [...secrets, fresh.key])).toEqual([]);
});

test("on disk, keys are only in the database, which only root can read", () => {
  const folder = join(lab.sandbox.directory, "state");
  expect(statSync(folder).mode & 0o777).toBe(0o700);
  const files = readdirSync(folder);
  expect(files).toContain("portcullis.db");
  for (const name of files)
    expect({ name, mode: statSync(join(folder, name)).mode & 0o077 }).toEqual({ name, mode: 0 });
  const given = Object.values(lab.sandbox.files);
  const others = readdirSync(lab.sandbox.directory, { recursive: true, withFileTypes: true })
    .filter((entry) => entry.isFile())
    .map((entry) => join(entry.parentPath, entry.name))
    .filter((path) => !given.includes(path) && !/\/portcullis\.db(-wal|-shm)?$/.test(path));
  expect(others.length).toBeGreaterThan(0);
  expect(others.filter((path) => found([readFileSync(path, "latin1")], secrets).length > 0)).toEqual([]);
});

test("a key pair is not kept, and the key of a removed server is gone from the database", async () => {
  await gateway.kill("SIGTERM");
  const folder = join(lab.sandbox.directory, "state");
  const database = readdirSync(folder)
    .filter((name) => name.startsWith("portcullis.db"))
    .map((name) => readFileSync(join(folder, name), "latin1"));
  const [first, second] = lab.sandbox.servers;
  expect(found(database, [first.custom.privateKey])).not.toEqual([]);
  expect(found(database, [fresh.key])).toEqual([]);
  expect(found(database, [second.custom.privateKey])).toEqual([]);
});
