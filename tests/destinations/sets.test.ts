import { expect, test } from "bun:test";
import { ips } from "../fake/address.ts";
import { DEVICES, World } from "./world.ts";

const [MAIN, AMSTERDAM] = ["192.0.2.1", "192.0.2.2"] as const;

test("of one name with a rule for each device, no kernel set has the address that is another exit's answer", async () => {
  const world = new World();
  for (const [index, exit] of ["main", "amsterdam", "blocked"].entries())
    await world.destinations.add({ names: ["a.test"], devices: [DEVICES[index] as string], exit });
  for (const [index, address] of [MAIN, AMSTERDAM].entries())
    await world.learn("a.test", DEVICES[index] as (typeof DEVICES)[number], ips(address));
  const held = world.sets.flatMap((set) => {
    const [, exit] = /^ *set named_\S+_(main|amsterdam|blocked)_\d+_ipv4 /.exec(set) ?? [];
    return exit === undefined ? [] : [[exit, [MAIN, AMSTERDAM].filter((each) => set.includes(each))]];
  });
  expect(held.toSorted()).toEqual([
    ["amsterdam", [AMSTERDAM]],
    ["main", [MAIN]],
  ]);
});
