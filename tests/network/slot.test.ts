import { expect, test } from "bun:test";
import { ANY_SLOT_MASK, MAIN_SLOT, MARK_MASK, REFUSAL_MARK, slotOf } from "../../src/network/slot.ts";

/** The number of tunnels that a gateway may have. */
const SLOTS = Array.from({ length: 8 }, (_, number) => slotOf(number, "wg"));
/** Bits of a firewall mark that other programs use: CNI, Kubernetes, Tailscale. */
const OTHERS = 0x2000 | 0x4000 | 0x8000 | 0xff0000;

test("main has the first two interfaces, and fixed numbers", () => {
  const { table, zones, links, mark } = slotOf(MAIN_SLOT, "wg");
  expect({ table, zones, links }).toEqual({ table: 20556, zones: [1, 2], links: ["wg0", "wg1"] });
  // The mark of version 0.1 was 0x504c: its interfaces are recognised by the bits that count.
  expect(0x504c & MARK_MASK).toBe(mark);
});

test("no two slots have a name or a number in common", () => {
  for (const of of ["links", "zones", "table", "mark"] as const) {
    const all = SLOTS.flatMap((slot): readonly unknown[] => [slot[of]].flat());
    expect(new Set(all).size).toBe(all.length);
  }
  expect(SLOTS.flatMap(({ zones }) => zones)).not.toContain(0);
});

test("a mark has no bit that others use, and one mask matches those of all slots but not an empty mark", () => {
  expect(MARK_MASK & OTHERS).toBe(0);
  for (const { mark } of SLOTS) {
    expect(mark & ~MARK_MASK).toBe(0);
    expect(mark & ANY_SLOT_MASK).toBe((SLOTS[0]?.mark ?? 0) & ANY_SLOT_MASK);
  }
  expect((SLOTS[0]?.mark ?? 0) & ANY_SLOT_MASK).not.toBe(0);
});

test("the mark of rejections is not a slot's, with any mask", () => {
  expect(REFUSAL_MARK & ~MARK_MASK).toBe(0);
  for (const { mark } of SLOTS) {
    expect(REFUSAL_MARK & MARK_MASK).not.toBe(mark & MARK_MASK);
    expect(REFUSAL_MARK & ANY_SLOT_MASK).not.toBe(mark & ANY_SLOT_MASK);
  }
});

test("the names of a base of 13 characters are no longer than the kernel's 15", () => {
  const names = Array.from({ length: 8 }, (_, number) => slotOf(number, "a".repeat(13))).flatMap(
    ({ links }) => links,
  );
  expect(Math.max(...names.map((name) => name.length))).toBe(15);
});
