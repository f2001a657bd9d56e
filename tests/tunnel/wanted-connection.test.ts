import { expect, test } from "bun:test";
import { slotOf } from "../../src/network/slot.ts";
import { CONNECTION, type Connection, savedTunnelsIn } from "../../src/tunnel/connection.ts";
import { WantedConnection } from "../../src/tunnel/wanted-connection.ts";
import { ONE, placeOf, TWO } from "./gateway.ts";

const NOW = 1_000;

/** The disk of one tunnel. */
class Disk {
  writes = 0;
  constructor(private kept: Connection | null = null) {}
  connection = () => this.kept;
  saveConnection = (connection: Connection | null) => {
    this.kept = connection;
    this.writes += 1;
  };
}

/** As a target can be reached now: a country of one server, too. */
const found = ({ server }: { server: string }) =>
  server === "Atlantis" ? placeOf([ONE]) : ([ONE, TWO].find(({ name }) => name === server) ?? null);

const aimOn = (savedState: Disk) =>
  new WantedConnection({ host: { now: () => NOW }, savedState, name: "main", slot: slotOf(0, "wg") });

test("a connection is saved with the places that were asked for, and shown in the client's words", () => {
  const disk = new Disk();
  const aim = aimOn(disk);
  aim.set({ ...ONE, via: TWO }, 500, { wanted: "Sweden" });
  aim.save();
  const connection = { provider: "custom", name: "one", via: "two", wanted: "Sweden", since: 500 } as const;
  expect(disk.connection()).toEqual(connection);
  expect(aim.asked).toEqual({ wanted: "Sweden" });
  expect(aim.spec).toEqual({ provider: "custom", server: "Sweden", via: "two" });
});

test("a tunnel that is up keeps its saved connection, and another server gets one of its own", () => {
  const saved: Connection = { provider: "custom", name: "one", wanted: "Sweden", since: 500 };
  const disk = new Disk(saved);
  const aim = aimOn(disk);
  aim.adopt(ONE, found);
  aim.saveIfChanged();
  expect([disk.writes, disk.connection()]).toEqual([0, saved]);
  aim.adopt(TWO, found);
  aim.saveIfChanged();
  expect([disk.writes, disk.connection()]).toEqual([1, { provider: "custom", name: "two", since: NOW }]);
});

test("what is cleared leads nowhere, and a start finds nothing to return to", () => {
  const disk = new Disk({ provider: "custom", name: "one", since: 500 });
  const aim = aimOn(disk);
  aim.resume();
  expect(aim.spec).toEqual({ provider: "custom", server: "one" });
  aim.clear();
  aim.save();
  expect([aim.spec, aim.saved]).toEqual([null, null]);
});

test("a move in an order that was interrupted before it was saved keeps the order, and what is none of it does not", () => {
  const targets = [ONE, TWO].map(({ provider, name }) => ({ provider, server: name }));
  const order = { targets, at: 1, back_after_minutes: 10 };
  const saved: Connection = { provider: "custom", name: "two", order, since: 500 };
  const aim = aimOn(new Disk(saved));
  aim.adopt(ONE, found);
  expect(aim.asked).toEqual({ order: { ...order, at: 0 } });
  aim.adopt({ ...ONE, name: "three" }, found);
  expect(aim.asked).toEqual({});
  const place = { provider: "custom", server: "Atlantis" } as const;
  const toPlace = aimOn(new Disk({ ...saved, order: { ...order, targets: [place, ...targets.slice(1)] } }));
  toPlace.adopt(ONE, found);
  expect(toPlace.asked).toMatchObject({
    wanted: placeOf([ONE]).name,
    order: { targets: [place, {}], at: 0 },
  });
});

test("a saved order that has taken a target which is not there is refused", () => {
  const targets = [ONE, TWO].map(({ provider, name }) => ({ provider, server: name }));
  const savedAt = (at: number) => ({ provider: "custom", name: "one", order: { targets, at }, since: 1 });
  const isRead = (at: number) => [
    CONNECTION.parse(JSON.stringify(savedAt(at))) !== null,
    savedTunnelsIn({ "tunnel tv": JSON.stringify({ slot: 3, connection: savedAt(at) }) }).has("tv"),
  ];
  expect([isRead(1), isRead(2)]).toEqual([
    [true, true],
    [false, false],
  ]);
});
