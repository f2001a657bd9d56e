import { afterAll, beforeAll, expect } from "bun:test";
import fc from "fast-check";
import { SEED } from "../chance.ts";
import { runs, sampled } from "../fast.ts";
import { createLab, type Gateway, type Lab } from "../rig/tools/lab.ts";
import { BINARY, Client } from "./client.ts";
import { type Observed, outcomeOf } from "./order.ts";

const CLIENTS = 50;
const DURATION_MS = runs(15_000);
const TIMEOUT_MS = 240_000;
const NAMES = ["one", "two", "three", "four"];

let lab: Lab;
let gateway: Gateway;

beforeAll(async () => {
  lab = await createLab({ cards: 2 });
  gateway = await lab.startGateway({ program: [BINARY] });
}, TIMEOUT_MS);
afterAll(() => lab?.close(), TIMEOUT_MS);

type Action =
  | "add"
  | "remove"
  | "import"
  | "unimport"
  | "provider"
  | "connect"
  | "disconnect"
  | "status"
  | "servers";

const actions = fc.record({
  action: fc.constantFrom<Action[]>(
    "add",
    "add",
    "remove",
    "remove",
    "import",
    "unimport",
    "provider",
    "connect",
    "disconnect",
    "status",
    "servers",
  ),
  name: fc.constantFrom(...NAMES),
  exit: fc.constantFrom("box-vpn-1", "box-vpn-2", ...NAMES),
  provider: fc.constantFrom("managed", "custom", "imported"),
  // The rate limit for connect, disconnect and provider is five a second.
  pause: fc.integer({ min: 210, max: 300 }),
});

/** The observed history of each name, in each of the two lists. */
class Records {
  readonly custom = new Map<string, Observed[]>();
  readonly imported = new Map<string, Observed[]>();

  note(list: "custom" | "imported", name: string, observed: Observed): void {
    this[list].set(name, [...(this[list].get(name) ?? []), observed]);
  }
}

sampled.test(
  `fifty clients at once: every answer fits some order, nothing hangs, the end is right (PORTCULLIS_TEST_SEED=${SEED})`,
  async () => {
    const records = new Records();
    const until = performance.now() + DURATION_MS;
    await Promise.all(Array.from({ length: CLIENTS }, (_, index) => act(index, until, records)));

    const client = new Client(gateway.port);
    await client.ask("POST", "/api/disconnect");
    for (const list of ["custom", "imported"] as const) {
      await client.ask("POST", `/api/provider/${list}`);
      const { servers } = (await client.ask("GET", "/api/servers")).body;
      const outcomes = NAMES.map((name) => [name, outcomeOf(records[list].get(name) ?? [])]);
      expect(outcomes).toEqual(NAMES.map((name) => [name, JSON.stringify(servers).includes(`"${name}"`)]));
    }
    await expectWorking(new Client(gateway.port));
  },
  TIMEOUT_MS,
);

/** The gateway still works. */
async function expectWorking(client: Client): Promise<void> {
  const ask = (method: string, path: string, body?: unknown) => client.ask(method, path, body);
  expect((await ask("GET", "/api/status")).body).toMatchObject({ connected: false, killswitch_active: true });
  await ask("POST", "/api/provider/managed");
  expect((await ask("POST", "/api/connect", { server: "box-vpn-2" })).body).toEqual({ success: true });
  expect((await ask("GET", "/api/status")).body).toMatchObject({ connected: true, server: "box-vpn-2" });
  expect(await ask("GET", "/health")).toEqual({ status: 200, body: "healthy" });
  expect((await ask("POST", "/api/disconnect")).body.message).toContain("kill switch active");
}

async function act(index: number, until: number, records: Records): Promise<void> {
  const client = new Client(gateway.port);
  for (const { action, name, exit, provider, pause } of fc.sample(actions, {
    numRuns: 200,
    seed: SEED + index,
  })) {
    if (performance.now() > until) return;
    const start = performance.now();
    const { status, body } = await ask(client, action, { name, exit, provider });
    const seen = { start, end: performance.now() };
    const told = { seed: SEED, action, status, body };
    switch (action) {
      case "add":
      case "import":
        expect({ ...told, ok: status === 200 || /^name: is taken/.test(body.error) }).toEqual({
          ...told,
          ok: true,
        });
        records.note(action === "add" ? "custom" : "imported", name, {
          ...seen,
          kind: status === 200 ? "change" : "look",
          there: true,
        });
        break;
      case "remove":
      case "unimport":
        // 400: the tunnel uses it, so it exists.
        expectOne(told, [200, 400, 404]);
        records.note(action === "remove" ? "custom" : "imported", name, {
          ...seen,
          kind: status === 200 ? "change" : "look",
          there: status === 400,
        });
        break;
      case "connect":
        expectOne(told, [200, 404, 500]);
        if (status === 500) expect(body.error).toStartWith("interrupted by a ");
        break;
      default:
        expectOne(told, [200]);
    }
    await Bun.sleep(pause);
  }
}

function expectOne(told: { status: number }, statuses: readonly number[]): void {
  expect({ ...told, statuses, fits: statuses.includes(told.status) }).toEqual({
    ...told,
    statuses,
    fits: true,
  });
}

interface Choice {
  name: string;
  exit: string;
  provider: string;
}

function ask(client: Client, action: Action, { name, exit, provider }: Choice) {
  const [server] = lab.sandbox.servers;
  switch (action) {
    case "add":
      return client.ask("POST", "/api/custom/add", { ...server.customBody, name });
    case "import":
      return client.ask("POST", "/api/import", { ...server.importBody, name });
    case "remove":
      return client.ask("DELETE", `/api/custom/remove/${name}`);
    case "unimport":
      return client.ask("DELETE", `/api/import/${name}`);
    case "provider":
      return client.ask("POST", `/api/provider/${provider}`);
    case "connect":
      return client.ask("POST", "/api/connect", { server: exit });
    case "disconnect":
      return client.ask("POST", "/api/disconnect");
    case "status":
    case "servers":
      return client.ask("GET", `/api/${action}`);
  }
}
