import fc from "fast-check";
import { PREFIXES } from "./destinations.ts";
import { forwardOf } from "./forwards.ts";
import { PAUSE, SCHEDULES } from "./schedules.ts";
import { type KnownMac, MACS, type World } from "./world.ts";

/** Something that happens to the home, and how much of what waits goes on after it. */
export interface Step {
  readonly happens: (world: World) => void | Promise<void>;
  readonly effects: number;
}

const MAX_STEPS = 20;
/** More than a change of an exit takes, so that some are done before the next thing happens. */
const MAX_EFFECTS = 12;
/** The first is tried again in another way, and so is what takes it back. */
const MAX_REFUSALS = 4;
const MINUTE_MS = 60_000;
const MAX_UNDISTURBED_MS = 5 * MINUTE_MS;

const mac = fc.constantFrom(...MACS);
const tunnel = fc.constantFrom("amsterdam", "berlin");
const server = fc
  .constantFrom("one", "two", "three")
  .map((name) => ({ provider: "custom" as const, server: name }));
const single = fc.constantFrom("main", "blocked", "amsterdam", "berlin", "direct");
const order = fc.constantFrom(["amsterdam", "main"], ["berlin", "amsterdam", "blocked"], ["main", "blocked"]);
const exit = fc.oneof({ weight: 4, arbitrary: single }, order, fc.constant(null));
const rate = fc.constantFrom(null, { down: 5, up: 5 }, { down: 50, up: null });

const FORWARD = "/api/forwards/:device/:protocol/:port";
const NETWORK = "/api/networks/:interface";
const schedule = fc.constantFrom(...SCHEDULES);
/** The day begins at 22:13. */
const span = fc.constantFrom(["22:14", "22:20"], ["22:00", "22:30"], ["22:20", "23:59"]);

/** What people ask for. */
const request = fc.oneof(
  {
    weight: 6,
    arbitrary: fc
      .tuple(mac, exit)
      .map(([id, value]) => ask("put", "/api/devices/:id", { id }, { exit: value })),
  },
  {
    weight: 3,
    arbitrary: fc
      .tuple(mac, exit, rate)
      .map(([id, value, limit]) =>
        ask("put", "/api/devices/:id", { id }, { exit: value, rate: limit, name: "It" }),
      ),
  },
  { weight: 1, arbitrary: mac.map((id) => ask("delete", "/api/devices/:id", { id })) },
  {
    weight: 3,
    arbitrary: single
      .filter((value) => value !== "direct")
      .map((value) => ask("put", "/api/default-exit", {}, { exit: value })),
  },
  {
    weight: 2,
    arbitrary: fc
      .option(single.filter((value) => value !== "direct"))
      .map((value) => ask("put", NETWORK, { interface: "lan0" }, { exit: value })),
  },
  {
    weight: 3,
    arbitrary: fc
      .tuple(schedule, mac, single, span)
      .map(([name, device, exit, [at, until]]) =>
        ask("put", "/api/schedules/:name", { name }, { device, exit, at, until }),
      ),
  },
  {
    weight: 1,
    arbitrary: fc
      .tuple(mac, fc.constantFrom("blocked", "berlin"), fc.constantFrom(1, 5))
      .map(([device, exit, minutes]) =>
        ask("put", "/api/schedules/:name", { name: PAUSE }, { device, exit, once: { minutes } }),
      ),
  },
  {
    weight: 2,
    arbitrary: fc
      .tuple(mac, fc.constantFrom(51_413, 51_414))
      .map(([device, external]) => ask("put", FORWARD, forwardOf(device), { external })),
  },
  { weight: 1, arbitrary: mac.map((device) => ask("delete", FORWARD, forwardOf(device))) },
  {
    weight: 1,
    arbitrary: fc
      .constantFrom(...SCHEDULES, PAUSE)
      .map((name) => ask("delete", "/api/schedules/:name", { name })),
  },
  { weight: 1, arbitrary: rate.map((value) => ask("put", "/api/shared-rate", {}, { rate: value })) },
  { weight: 1, arbitrary: fc.boolean().map((isAllowed) => (world: World) => world.allowDirect(isAllowed)) },
  { weight: 3, arbitrary: server.map((to) => ask("post", "/api/connect", {}, to)) },
  { weight: 1, arbitrary: fc.constant(ask("post", "/api/disconnect")) },
  {
    weight: 4,
    arbitrary: fc.tuple(tunnel, server).map(([name, to]) => ask("put", "/api/tunnels/:name", { name }, to)),
  },
  { weight: 1, arbitrary: tunnel.map((name) => ask("post", "/api/tunnels/:name/disconnect", { name })) },
  { weight: 2, arbitrary: tunnel.map((name) => ask("delete", "/api/tunnels/:name", { name })) },
  {
    weight: 3,
    arbitrary: fc
      .tuple(
        single,
        fc.constantFrom(...PREFIXES),
        fc.oneof(
          mac.map((id) => [id]),
          fc.constant<KnownMac[]>([]),
        ),
      )
      .map(([exit, prefix, devices]) => {
        const rule = { prefixes: [prefix], devices };
        return (world: World) =>
          world.ask({ method: "post", path: "/api/destinations", body: { ...rule, exit }, rule });
      }),
  },
  {
    weight: 2,
    arbitrary: fc.tuple(fc.nat({ max: 3 }), fc.option(single)).map(
      ([which, value]) =>
        (world: World) =>
          world.changeRule(which, value),
    ),
  },
);

/** What goes wrong. */
const fault = fc.oneof(
  { weight: 2, arbitrary: fc.boolean().map((isFull) => (world: World) => world.fillDisk(isFull)) },
  fc.tuple(fc.integer({ min: 1, max: MAX_REFUSALS }), fc.constantFrom("before", "after", "late")).map(
    ([count, how]) =>
      (world: World) =>
        world.refuse(count, how),
  ),
  fc.constantFrom("192.0.2.1", "192.0.2.2").map((address) => (world: World) => world.silence(address)),
  fc.boolean().map((isPlugged) => (world: World) => world.plug(isPlugged)),
  fc.constant((world: World) => world.removeTable()),
  fc.constant((world: World) => world.endWatches()),
  fc.constant((world: World) => world.kill()),
);

const time = fc.oneof(
  {
    weight: 3,
    arbitrary: fc.integer({ min: 1, max: MINUTE_MS }).map((ms) => (world: World) => world.pass(ms)),
  },
  // A server that is silent is noticed after some minutes.
  {
    weight: 1,
    arbitrary: fc.integer({ min: 1, max: MAX_UNDISTURBED_MS }).map((ms) => (world: World) => world.live(ms)),
  },
);

/** A day of the home, in a few seconds of its own time. */
export const steps: fc.Arbitrary<Step[]> = fc.array(
  fc.record({
    happens: fc.oneof(
      { weight: 6, arbitrary: request },
      { weight: 2, arbitrary: fault },
      { weight: 2, arbitrary: time },
    ),
    effects: fc.integer({ min: 0, max: MAX_EFFECTS }),
  }),
  // Without it, most days would have fewer than ten.
  { maxLength: MAX_STEPS, size: "max" },
);

function ask(
  method: string,
  path: string,
  params: Record<string, string> = {},
  body?: object,
): (world: World) => void {
  return (world) => world.ask({ method, path, params, body });
}
