import { afterEach, expect, test } from "bun:test";
import { Load } from "../../rig/soak/load.ts";
import { until } from "../../rig/tools/until.ts";

const always = () => 0.99;

let server: Bun.Server<undefined>;
let load: Load;
afterEach(async () => {
  load.stop();
  await server.stop(true);
});

test("an answer that is not the expected one is a fault", async () => {
  server = Bun.serve({ hostname: "127.0.0.1", port: 0, fetch: () => new Response("odd", { status: 418 }) });
  load = new Load(server.port ?? 0, always);
  load.start();
  await until(() => load.medianMs > 0);
  expect(load.settle(true)).toContain('GET /health : 418 "odd"');
  load.stop();
  await until(() => load.settle(true).length === 0);
});

test("no answer is a fault only if the service has lived all the time", async () => {
  server = Bun.serve({ hostname: "127.0.0.1", port: 0, fetch: () => new Response("healthy") });
  load = new Load(server.port ?? 0, always);
  load.start();
  await until(() => load.medianMs > 0);
  expect(load.settle(true)).toEqual([]);
  await server.stop(true);
  const { sent } = load;
  await until(() => load.sent > sent + 20);
  expect(load.settle(false)).toEqual([]);
  await until(() => load.sent > sent + 40);
  const faults = load.settle(true);
  expect(faults.length).toBeGreaterThan(0);
  expect(faults.every((fault) => /^GET \/health, \d+ ms: no answer$/.test(fault))).toBe(true);
});
