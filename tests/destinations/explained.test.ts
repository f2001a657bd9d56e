import { expect, test } from "bun:test";
import * as fc from "fast-check";
import type { Mac } from "../../src/base/mac.ts";
import { formatExit, parseExit } from "../../src/devices/exit.ts";
import { destinationExit } from "../../src/killswitch/destination-exits.ts";
import { ip, ips } from "../fake/address.ts";
import { exitTo, POLICIES } from "../killswitch/example.ts";
import { kernelWith } from "./kernel.ts";
import { DEVICES, EXITS, World } from "./world.ts";

const NAMES = ["a.test", "b.test", "x.a.test", "y.x.a.test", "c.b.test"];
const ADDRESSES = ips("192.0.2.1", "192.0.2.2", "192.0.2.70", "198.51.100.1");
const PREFIXES = ["192.0.2.0/24", "192.0.2.64/26", "192.0.2.1/32"];

const some = <Item>(all: readonly Item[]) => fc.subarray([...all]);
const rules = fc.array(
  fc.record({
    names: some(NAMES),
    prefixes: some(PREFIXES),
    devices: some(DEVICES),
    exit: fc.constantFrom(...EXITS),
  }),
  { maxLength: 8 },
);
const answers = fc.array(fc.tuple(fc.constantFrom(...NAMES), fc.constantFrom(...DEVICES), some(ADDRESSES)), {
  maxLength: 12,
});
const exits = fc.tuple(...DEVICES.map(() => fc.constantFrom("main", "amsterdam", "blocked")));

test("the exit that is explained is the exit that the kernel takes", () => {
  const seen = new Map<string, number>();
  return fc
    .assert(
      fc.asyncProperty(rules, answers, exits, fc.boolean(), async (bodies, learnt, own, isLost) => {
        const world = new World();
        const exitOf = (device: string) => own[DEVICES.indexOf(device as Mac)] ?? "main";
        world.exitOf = exitOf;
        for (const body of bodies) await world.destinations.add(body).catch(() => {});
        for (const [at, [name, device, addresses]] of learnt.entries()) {
          await world.learn(name, device, addresses);
          // What is learnt before this is unknown after it.
          if (isLost && at === 5) world.kept = null;
          if (isLost && at === 5) await world.restart();
        }
        const devices = DEVICES.map((id) => ({ id, exit: exitTo(exitOf(id)) }));
        const policy = { ...POLICIES["two-tunnels"], devices, destinations: world.loaded };
        const exitOfPacket = kernelWith(policy);
        for (const id of DEVICES)
          for (const address of ADDRESSES) {
            const { exit, rule } = await world.destinations.explain(id, address);
            const taken = exitOfPacket({ mac: id, from: ip("192.168.7.20"), to: address });
            const sender = { id, exit: parseExit(exitOf(id)) ?? ({ to: "blocked" } as const) };
            const known = destinationExit(policy, address, sender);
            expect(taken === "own" ? exitOf(id) : taken).toBe(exit);
            expect(known ? formatExit(known) : exitOf(id)).toBe(exit);
            const kind = `${rule === null ? "none" : "rule"} ${exit}`;
            seen.set(kind, (seen.get(kind) ?? 0) + 1);
          }
      }),
      { numRuns: 200 },
    )
    .then(() => {
      // The judge has seen every exit.
      for (const exit of EXITS) expect(seen.get(`rule ${exit}`) ?? 0).toBeGreaterThan(20);
    });
}, 60_000);
