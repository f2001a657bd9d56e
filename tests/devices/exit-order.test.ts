import { describe, expect, test } from "bun:test";
import {
  exitInForce,
  formatOrder,
  MAX_EXITS,
  orderFault,
  parseDefaultOrder,
  parseOrder,
} from "../../src/devices/exit-order.ts";
import type { Exit } from "../../src/killswitch/policy.ts";

const orderIn = (text: string) => parseOrder(text) ?? [{ to: "direct" } as const];
const tunnel = (name: string): Exit => ({ to: "tunnel", name });
const BLOCKED: Exit = { to: "blocked" };

/** The exit in force, if these tunnels are up and those of them steady. */
function inForce(text: string, up: string[], present: Exit | null, steady = up): Exit {
  const ways = {
    isUp: (name: string) => up.includes(name),
    isSteady: (name: string) => steady.includes(name),
  };
  return exitInForce(orderIn(text), ways, present);
}

describe("the exit in force", () => {
  test("is the first that is up", () => {
    const text = "amsterdam,main,blocked";
    expect(inForce(text, ["amsterdam", "main"], null)).toEqual(tunnel("amsterdam"));
    expect(inForce(text, ["main"], null)).toEqual(tunnel("main"));
    expect(inForce(text, [], null)).toEqual(BLOCKED);
    expect(inForce(text, ["oslo"], tunnel("oslo"))).toEqual(BLOCKED);
  });

  test("is left at once if it is down, also for a better one that is not steady", () => {
    expect(inForce("amsterdam,main", ["main"], tunnel("amsterdam"))).toEqual(tunnel("main"));
    expect(inForce("amsterdam,main", ["amsterdam"], tunnel("main"), [])).toEqual(tunnel("amsterdam"));
    expect(inForce("amsterdam,main,blocked", ["amsterdam"], BLOCKED, [])).toEqual(tunnel("amsterdam"));
  });

  test("is left for a better one only if that is steady", () => {
    const up = ["amsterdam", "oslo", "main"];
    const text = "amsterdam,oslo,main";
    expect(inForce(text, up, tunnel("main"), ["main"])).toEqual(tunnel("main"));
    expect(inForce(text, up, tunnel("main"), ["main", "oslo"])).toEqual(tunnel("oslo"));
    expect(inForce(text, up, tunnel("main"))).toEqual(tunnel("amsterdam"));
  });

  test("is never an exit outside the list, and stays if none is up", () => {
    expect(inForce("amsterdam,main", ["oslo"], tunnel("main"))).toEqual(tunnel("main"));
    expect(inForce("amsterdam,main", ["oslo"], null)).toEqual(tunnel("amsterdam"));
    expect(inForce("amsterdam", ["main"], tunnel("main"))).toEqual(tunnel("amsterdam"));
    expect(inForce("direct", [], null)).toEqual({ to: "direct" });
  });
});

test("an order that is read again is the same", () => {
  for (const text of ["main", "blocked", "direct", "amsterdam,main", "amsterdam,main,blocked"])
    expect(formatOrder(orderIn(text))).toBe(text);
});

test.each([
  "",
  "amsterdam,",
  "amsterdam,,main",
  "amsterdam, main",
  "Amsterdam,main",
  "main,main",
  "blocked,main",
  "main,direct",
  "direct,blocked",
  Array.from({ length: MAX_EXITS + 1 }, (_, at) => `t${at}`).join(),
])("%j is no order", (text) => {
  expect(parseOrder(text)).toBeNull();
});

test("a network behind another router has no exit direct", () => {
  expect(parseDefaultOrder("direct")).toBeNull();
  expect(parseDefaultOrder("amsterdam,blocked")).not.toBeNull();
});

test("what is wrong with an order is said", () => {
  expect(orderFault([])?.message).toBe("exit: must be 1 to 9 exits");
  expect(orderFault(Array.from({ length: 11_000 }, () => "main"))?.message).toBe(
    "exit: must be 1 to 9 exits",
  );
  expect(orderFault(["main", "main"])?.message).toBe('exit: "main" is in the list twice');
  expect(orderFault(["blocked", "main"])?.message).toStartWith("exit: blocked must be the last of the list");
  expect(orderFault(["main", "direct"])?.message).toStartWith("exit: direct cannot be one of several");
  expect(orderFault(["main", "blocked"])).toBeNull();
});
