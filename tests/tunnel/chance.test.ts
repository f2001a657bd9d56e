import { expect, setDefaultTimeout } from "bun:test";
import { join } from "node:path";
import { FakeHost } from "../fake/host.ts";
import { long } from "../fast.ts";
import { inDirectory } from "./directory.ts";
import {
  freshState,
  Gateway,
  kernelState,
  ONE,
  placeOf,
  SERVERS,
  stoodAlways,
  THREE,
  TWO,
} from "./gateway.ts";

const { test } = long("random changes");

/** Hundreds of gateways in one test. */
const PATIENCE_MS = 600_000;
setDefaultTimeout(PATIENCE_MS);
const SEQUENCES = 300;
const EVENTS = 14;
/** The regular check comes by then, and the longest pause between two dials is over. */
const RESTED_AFTER_MS = 400_000;

const ENDPOINTS = SERVERS.map(({ config: { peer } }) => `${peer.endpoint.host}:${peer.endpoint.port}`);

/** A place that none of them is in, so that each connect to it has something to do. */
const ANYWHERE = { ...placeOf(SERVERS), country: "Anywhere" };

interface Chance {
  gateway: Gateway;
  host: FakeHost;
  /** Of what was wished and may not be over. */
  outcomes: Promise<unknown>[];
  /** In [0, 1). */
  random: () => number;
}

type Happening = (chance: Chance) => unknown;

/** What people do. */
const WISHES: Happening[] = [
  ({ gateway, outcomes, random }) =>
    outcomes.push(gateway.controller.connect(oneOf(SERVERS, random)).catch(() => {})),
  ({ gateway, outcomes, random }) =>
    outcomes.push(gateway.controller.connect(oneOf(SERVERS, random)).catch(() => {})),
  ({ gateway, outcomes }) => outcomes.push(gateway.controller.connect(ANYWHERE).catch(() => {})),
  ({ gateway, outcomes }) => outcomes.push(gateway.controller.disconnect().catch(() => {})),
  ({ host, random }) => {
    host.busy = random() < 0.5;
  },
  ({ gateway, outcomes }) => outcomes.push(gateway.status().catch(() => {})),
];

/** What the world does. */
const MISHAPS: Happening[] = [
  ({ host, random }) => host.silent.add(oneOf(ENDPOINTS, random)),
  ({ host }) => host.silent.clear(),
  ({ host, random }) => host.plug(random() < 0.5),
  ({ host, random }) => host.setDefaultRoute(random() < 0.5 ? "up0" : null),
  ({ host, random }) => host.setClock((random() - 0.5) * 1e8),
  ({ host }) => host.endWatches(),
];

/** What other programs do. */
const TAMPERING: Happening[] = [
  ({ host }) => host.removeTable(),
  ({ host }) => host.switchTableOff(),
  ({ host, random }) => host.insertRule(oneOf(["input", "forward", "output"], random), "accept"),
  ({ host, random }) => {
    const family = oneOf(["-4", "-6"] as const, random);
    const rule = oneOf(host.rules[family], random);
    if (rule !== undefined) host.changeRule("del", family, rule);
  },
  ({ host, random }) => {
    const rule = `priority ${10 + Math.floor(random() * 90)} to 8.8.8.8 lookup main`;
    if (!host.rules["-4"].includes(rule)) host.changeRule("add", "-4", rule);
  },
  ({ host, random }) => {
    const link = oneOf(tunnelLinks(host), random);
    if (link !== undefined) host.removeLink(link);
  },
  ({ host, random }) => {
    const prefix = oneOf([...host.routes.keys()], random);
    if (prefix !== undefined) host.removeRoute(prefix);
  },
  ({ host, random }) => {
    const link = oneOf(tunnelLinks(host), random);
    const address = oneOf(host.links.get(link ?? "")?.addresses ?? [], random);
    if (link !== undefined && address !== undefined) host.removeAddress(link, address);
  },
];

test(`${SEQUENCES} random sequences of wishes, failures and tampering end as a fresh start would, and the kill switch always stands`, () =>
  inDirectory(async (directory) => {
    for (let seed = 1; seed <= SEQUENCES; seed++) {
      const label = `seed ${seed}`;
      const chance = await begin(join(directory, `${seed}`), seed);
      for (let event = 0; event < EVENTS; event++) await happen(chance);
      const { gateway, host } = chance;
      await calm(chance);
      const status = await gateway.status();
      expect(kernelState(host), label).toBe(await freshState(status));
      expect(status.state, label).not.toBe("reconnecting");
      expect(await gateway.tunnels.protection.fault(), label).toBeNull();
      expect(stoodAlways(host), label).toBe(true);
    }
  }));

test("100 random sequences of wishes and mishaps without tampering bring no alert", () =>
  inDirectory(async (directory) => {
    for (let seed = 1; seed <= 100; seed++) {
      const chance = await begin(join(directory, `${seed}`), seed);
      const { gateway, host } = chance;
      host.fails = () => null;
      for (let event = 0; event < EVENTS; event++) await happen(chance, []);
      await calm(chance);
      expect(gateway.alerts, `seed ${seed}`).toEqual([]);
      expect(stoodAlways(host), `seed ${seed}`).toBe(true);
    }
  }));

test("100 random connects, from whose interfaces addresses are taken meanwhile, are whole 2 s after they are up", () =>
  inDirectory(async (directory) => {
    const takeAddress = TAMPERING.at(-1);
    for (let seed = 1; seed <= 100; seed++) {
      const chance = await begin(join(directory, `${seed}`), seed);
      const { gateway, host, random, outcomes } = chance;
      host.fails = () => null;
      for (const endpoint of ENDPOINTS) host.roundTrips.set(endpoint, random() * 3_000);
      for (let connect = 0; connect < 3; connect++) {
        outcomes.push(gateway.controller.connect(oneOf(SERVERS, random)));
        for (let times = 0; times < 3; times++) {
          await host.pass(random() * 1_500);
          takeAddress?.(chance);
        }
        await over(host, outcomes);
        await host.pass(2_000);
        const status = await gateway.status();
        const label = `seed ${seed}, connect ${connect}`;
        expect(kernelState(host), label).toBe(await freshState(status));
      }
    }
  }));

async function begin(directory: string, seed: number): Promise<Chance> {
  const random = randomFrom(seed);
  const host = new FakeHost();
  host.native = random() < 0.8;
  const gateway = await Gateway.watched(directory, host);
  if (random() < 0.3) gateway.alternatives = [ONE, TWO, THREE];
  host.toldAfterMs = oneOf([0, 4, 60], random);
  host.fails = () => (random() < 0.06 ? (random() < 0.5 ? "before" : "after") : null);
  host.turns = () => 1 + Math.floor(random() * 40);
  return { gateway, host, outcomes: [], random };
}

async function happen(chance: Chance, tampering = TAMPERING): Promise<void> {
  const { host, random, gateway, outcomes } = chance;
  const kind = random();
  oneOf(kind < 0.4 ? WISHES : kind < 0.6 ? MISHAPS : tampering, random)?.(chance);
  const wait = random();
  if (wait < 0.3) await host.pass(random() * 100);
  else if (wait < 0.6) await host.pass(random() * 5_000);
  else if (wait < 0.7) await host.pass(random() * 100_000);
  if (random() > 0.05) return;
  await over(host, outcomes);
  await startAgain(gateway);
}

/** The service's process is started until it starts. */
async function startAgain(gateway: Gateway): Promise<void> {
  for (let started = false; !started; ) {
    started = await gateway.restart().then(
      () => true,
      () => false,
    );
  }
  gateway.watch();
}

/** Nothing fails any longer, and time goes by until the gateway is at rest. */
async function calm({ gateway, host, outcomes }: Chance): Promise<void> {
  host.fails = () => null;
  host.silent.clear();
  host.plug(true);
  host.setDefaultRoute("up0");
  await over(host, outcomes);
  await host.pass(RESTED_AFTER_MS);
  expect(gateway.controller.state.name).not.toBe("connecting");
}

/** Time goes by until all is answered. */
async function over(host: FakeHost, outcomes: readonly Promise<unknown>[]): Promise<void> {
  let waiting = true;
  void Promise.all(outcomes).then(() => {
    waiting = false;
  });
  while (waiting) await host.pass(1_000);
}

function tunnelLinks(host: FakeHost): string[] {
  return [...host.links.keys()].filter((name) => name.startsWith("wg"));
}

function oneOf<T>(choices: readonly T[], random: () => number): T {
  return choices[Math.floor(random() * choices.length)] as T;
}

/** mulberry32: small, seeded, good enough to choose events. */
function randomFrom(seed: number): () => number {
  let state = seed;
  return () => {
    state = (state + 0x6d2b79f5) | 0;
    let mixed = Math.imul(state ^ (state >>> 15), 1 | state);
    mixed = (mixed + Math.imul(mixed ^ (mixed >>> 7), 61 | mixed)) ^ mixed;
    return ((mixed ^ (mixed >>> 14)) >>> 0) / 4294967296;
  };
}
