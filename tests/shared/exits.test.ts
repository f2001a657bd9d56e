import { expect, test } from "bun:test";
import { formatExit, parseDefaultExit, parseExit } from "../../src/devices/exit.ts";
import { EXITS, type ExitKind, exitKindOf, isOutside } from "../../src/shared/exits.ts";
import { isTunnelName } from "../../src/tunnel/name.ts";

const KINDS = Object.keys(EXITS) as ExitKind[];

test.each(KINDS.filter((kind) => kind !== "tunnel"))(
  "%s is an exit of its own, and no tunnel's name",
  (kind) => {
    expect(exitKindOf(kind)).toBe(kind);
    expect(parseExit(kind)).toEqual({ to: kind });
    expect(isTunnelName(kind)).toBe(false);
  },
);

test.each(["main", "tunnel", "toString", "directly"])("%s is the name of a tunnel", (name) => {
  expect(exitKindOf(name)).toBe("tunnel");
  expect(isOutside(name)).toBe(false);
});

test("what leads outside every tunnel is no default exit, and every other exit is", () => {
  const exits = ["main", "blocked", "direct"].flatMap((text) => parseExit(text) ?? []);
  const given = exits.map((exit) => [exit.to, parseDefaultExit(formatExit(exit)) !== null]);
  expect(given).toEqual(exits.map(({ to }) => [to, !EXITS[to].isOutside]));
});
