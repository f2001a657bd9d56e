import { afterAll, beforeAll, expect, setDefaultTimeout } from "bun:test";
import { rmSync } from "node:fs";
import { join } from "node:path";
import { long } from "../fast.ts";
import { newDirectory } from "../tunnel/directory.ts";
import { Home } from "./home.ts";

const { test } = long("the generators come from the npm registry");

const TIMEOUT_MS = 600_000;
setDefaultTimeout(TIMEOUT_MS);
const PACKAGES = [
  "@redocly/cli@2.77.0",
  "openapi-fetch@0.17.0",
  "openapi-typescript@7.13.0",
  "typescript@5.9.3",
];
/** On average: 59 while each schema stands once. */
const MAX_LINES_OF_AN_OPERATION = 65;

/** What someone writes who has never seen the gateway's code. */
const CLIENT = `import createClient from "openapi-fetch";
import type { components, paths } from "./gateway.d.ts";

type Device = components["schemas"]["Device"];
type Status = components["schemas"]["Status"];

const baseUrl = process.argv[2] ?? "";
const gateway = createClient<paths>({ baseUrl });

const status: Status | undefined = (await gateway.GET("/api/status")).data;
const named = await gateway.PUT("/api/devices/{id}", {
  params: { path: { id: "02:00:00:00:00:20" } },
  body: { name: "TV", icon: "tv" },
});
const devices: Device[] = (await gateway.GET("/api/devices")).data?.devices ?? [];
const { error } = await gateway.PUT("/api/default-exit", { body: { exit: "nowhere" } });
console.log(JSON.stringify([status?.state, named.data, devices.map(({ name }) => name), error]));
`;

let home: Home;
let directory: string;
beforeAll(async () => {
  home = await Home.withRealClock();
  directory = newDirectory();
  await Bun.write(join(directory, "package.json"), '{"type":"module"}');
  await Bun.write(join(directory, "gateway.json"), (await home.again("GET", "/swagger/json")).text);
  await passes("npm", "install", "--no-audit", "--no-fund", "--save-exact", ...PACKAGES);
  await passes(tool("openapi-typescript"), "gateway.json", "-o", "gateway.d.ts");
}, TIMEOUT_MS);
afterAll(async () => {
  await home.stop();
  rmSync(directory, { recursive: true, force: true });
});

test("Redocly's strict rules find nothing", async () => {
  await passes(tool("redocly"), "lint", "--extends=recommended-strict", "gateway.json");
});

test("openapi-typescript makes types that a person can read", async () => {
  const lines = (await Bun.file(join(directory, "gateway.d.ts")).text()).split("\n").length;
  const document = await Bun.file(join(directory, "gateway.json")).text();
  const operations = document.match(/"operationId":/g) ?? [];
  expect(operations.length).toBeGreaterThan(90);
  expect(lines).toBeGreaterThan(1_000);
  expect(lines / operations.length).toBeLessThan(MAX_LINES_OF_AN_OPERATION);
});

test("a client is compiled against them, and is answered by a gateway", async () => {
  await compiles(CLIENT);
  expect(JSON.parse(await passes("bun", "client.ts", `http://127.0.0.1:${home.port}`))).toEqual([
    "disconnected",
    { success: true },
    ["TV"],
    expect.objectContaining({ success: false, error: expect.stringContaining("there is no such tunnel") }),
  ]);
});

test.each([
  ["a path that the gateway does not have", "/api/default-exit", "/api/default-exits"],
  ["a body that it refuses", '{ exit: "nowhere" }', '{ exit: ["nowhere"] }'],
  ["a field that an answer does not have", "status?.state", "status?.mood"],
])("positive control: %s does not compile", async (_, right, wrong) => {
  await expect(compiles(CLIENT.replace(right, wrong))).rejects.toThrow("error TS");
});

async function compiles(client: string): Promise<void> {
  await Bun.write(join(directory, "client.ts"), client);
  const options = ["--module", "nodenext", "--target", "esnext", "--allowImportingTsExtensions"];
  await Bun.write(join(directory, "process.d.ts"), "declare const process: { argv: string[] };");
  await passes(tool("tsc"), "--noEmit", "--strict", ...options, "client.ts", "process.d.ts");
}

function tool(name: string): string {
  return join(directory, "node_modules/.bin", name);
}

/** What a program prints; throws what it complains of. */
async function passes(...command: string[]): Promise<string> {
  const child = Bun.spawn(command, { cwd: directory, stdout: "pipe", stderr: "pipe" });
  const [output, complaints, code] = await Promise.all([
    new Response(child.stdout).text(),
    new Response(child.stderr).text(),
    child.exited,
  ]);
  if (code !== 0) throw new Error(`${command.join(" ")}: ${output}${complaints}`);
  return output;
}
