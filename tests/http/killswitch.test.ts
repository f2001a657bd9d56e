import { afterEach, beforeEach, expect } from "bun:test";
import { slow } from "../fast.ts";
import { Home, LISTING } from "./home.ts";

const { test } = slow;

let home: Home;
beforeEach(async () => {
  home = await Home.start();
  home.parts.killSwitch.setWatched(true);
});
afterEach(() => home.stop());

const read = async () => (await home.send("GET", "/api/killswitch")).json;
/** What does not hold, by layer. */
const _broken = async () => {
  const { layers } = await read();
  return layers.map((layer: { holds: boolean; parts: { name: string; holds: boolean }[] }) => [
    layer.holds,
    ...layer.parts.filter(({ holds }) => !holds).map(({ name }) => name),
  ]);
};

test("GET /api/killswitch answers both layers with their parts, as `killswitch status` shows them", async () => {
  const { layers, ...rest } = await read();
  expect(rest).toEqual({ active: true, wanted: true, direct_devices: 0, error: null });
  const { parts } = await home.parts.tunnels.protection.inspection();
  expect(layers.map(({ name, holds }: { name: string; holds: boolean }) => [name, holds])).toEqual([
    ["firewall", true],
    ["routing", true],
  ]);
  const all = layers.flatMap((layer: { parts: unknown[] }) => layer.parts);
  const others = ["last change", "forwarding", "direct devices"];
  expect(all).toEqual(parts.filter(({ name }) => !others.includes(name)));
});

test("the routing rules that a tunnel has while the kill switch is off do not count as a layer that blocks", async () => {
  await home.connect();
  await home.parts.operatorSwitch.turn(false);
  const [, routing] = (await read()).layers;
  expect(routing.holds).toBe(false);
  expect(routing.parts).toContainEqual({
    name: "routing rules, IPv4",
    holds: false,
    found: "do not block: the kill switch is off",
  });
});

test("questions run no program while the kernel reports no change", async () => {
  await read();
  home.host.commands.length = 0;
  for (let count = 0; count < 5; count++) await read();
  expect(home.host.commands).toEqual([]);
  home.parts.killSwitch.changed();
  await Promise.all(Array.from({ length: 5 }, () => home.again("GET", "/api/killswitch")));
  expect(home.host.commands.filter((command) => command === LISTING)).toHaveLength(1);
});
