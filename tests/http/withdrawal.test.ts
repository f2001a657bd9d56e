import { afterEach, beforeEach, expect } from "bun:test";
import { partsOn } from "../../src/app/parts.ts";
import { GatewayError } from "../../src/base/errors.ts";
import { withdrawDirect } from "../../src/destinations/withdraw-direct.ts";
import { slow } from "../fast.ts";
import { until } from "../rig/tools/until.ts";
import { Home } from "./home.ts";

const { test } = slow;
/** Only what has failed waits for it. */
const HANGS_AFTER_MS = 20_000;
const TV = "02:00:00:00:00:20";
const LAPTOP = "02:00:00:00:00:21";
/** A restore may bring all that the backup has. */
const MAY = { replace: true, direct: true, killswitchOff: false };
/** The kill switch has another one. */
const LIMITS_CHANGE = "nft -f -";

let home: Home;
beforeEach(async () => {
  home = await Home.start();
});
afterEach(() => home.stop());

const add = (body: object) => home.ask("POST", "/api/destinations", body);
const list = async () => (await home.ask("GET", "/api/destinations")).destinations;
const within = (promise: Promise<unknown>): Promise<string> => {
  const late = Promise.withResolvers<string>();
  const timer = setTimeout(() => late.resolve("hangs"), HANGS_AFTER_MS);
  const ended = promise.then(
    () => "ended",
    (error) => `${error}`,
  );
  return Promise.race([ended, late.promise]).finally(() => clearTimeout(timer));
};

test("a withdrawal that the kernel refused for the devices is not said to be in force", async () => {
  const { devices, destinations, store } = home.parts;
  await devices.setDirect(true);
  await devices.assign(TV, { exit: "direct" });
  await add({ prefixes: ["192.0.2.0/24"], exit: "direct" });
  const { atomically } = store;
  store.atomically = () => {
    throw new GatewayError("storage_full", "The database could not be written: the disk is full.");
  };
  const answer = destinations
    .closeDirect(() => {
      // From now on the kernel takes nothing.
      home.host.fails = () => "before";
      return devices.setDirect(false);
    })
    .then(
      () => "withdrawn",
      (error) => String(error.message),
    );
  const text = await answer;
  store.atomically = atomically;
  home.host.fails = () => null;
  expect(devices.direct.allowed).toBe(true);
  expect(text).not.toContain("The change is in force");
});

test.each([1, 2, 3, 4, 5, 6, 7, 8])(
  "its answer is true, however much the kernel refuses at first: %p",
  async (fails) => {
    const { devices, store } = home.parts;
    await devices.setDirect(true);
    await add({ prefixes: ["192.0.2.0/24"], exit: "direct" });
    let fail = fails;
    home.host.fails = (count) =>
      home.host.commands[count - 1]?.startsWith("nft") && fail-- > 0 ? "before" : null;
    const isAnswered = await withdrawDirect(home.parts).then(
      () => true,
      () => false,
    );
    const isGone = !devices.direct.allowed && store.read("direct") === null;
    const hasNoRule =
      (await list())[0].exit === "blocked" && !home.host.table?.includes("unblocked_by_direct");
    expect(isAnswered).toBe(isGone && hasNoRule);
  },
);

/** Only the permission is taken: the kernel takes no rule. */
async function refuseRules(): Promise<void> {
  const { devices, destinations } = home.parts;
  home.host.fails = () => "before";
  const withdrawn = destinations.closeDirect(async () => {
    await Bun.sleep(20);
    home.host.fails = () => null;
    return devices.setDirect(false).finally(() => {
      home.host.fails = () => "before";
    });
  });
  await expect(withdrawn).rejects.toThrow("made to fail");
  home.host.fails = () => null;
}

test("a rule that the kernel refuses to block does not stay once the permission is gone", async () => {
  await home.parts.devices.setDirect(true);
  await add({ prefixes: ["192.0.2.0/24"], exit: "direct" });
  await refuseRules();
  expect(home.host.table).toContain("unblocked_by_direct");
  const stopping = new AbortController();
  const watched = home.parts.destinations.watch(stopping.signal);
  await home.pass(15_000);
  expect(await list()).toMatchObject([{ exit: "blocked" }]);
  expect(home.host.table).not.toContain("unblocked_by_direct");
  stopping.abort();
  await watched;
});

test("a rule that blocks and could not be saved outlives a withdrawal that the kernel refuses", async () => {
  const { devices, store } = home.parts;
  await devices.setDirect(true);
  await add({ prefixes: ["192.0.2.0/24"], exit: "direct" });
  const { atomically } = store;
  store.atomically = () => {
    throw new GatewayError("storage_full", "The database could not be written: the disk is full.");
  };
  await add({ prefixes: ["198.51.100.0/24"], exit: "blocked" });
  await refuseRules();
  store.atomically = atomically;
  const prefixes = (await list()).flatMap((rule: { prefixes: string[] }) => rule.prefixes);
  expect(prefixes).toContain("198.51.100.0/24");
});

test("a withdrawal that is repeated after a refusal leaves no direct rule in the database", async () => {
  const { devices, destinations } = home.parts;
  await devices.setDirect(true);
  await add({ prefixes: ["192.0.2.0/24"], exit: "direct" });
  await refuseRules();
  await withdrawDirect(home.parts);
  await devices.setDirect(true);
  await destinations.reload();
  expect(await list()).toMatchObject([{ exit: "blocked" }]);
});

/** The removal of a tunnel has waited for one limit, and waits for the next. */
async function holdRemoval(): Promise<{ release: () => Promise<unknown> }> {
  const { devices, tunnels } = home.parts;
  await home.ask("PUT", "/api/tunnels/amsterdam", { provider: "managed", server: "se-1" });
  const held: PromiseWithResolvers<void>[] = [];
  home.host.holds = (command) => {
    if (command !== LIMITS_CHANGE) return null;
    held.push(Promise.withResolvers<void>());
    return held.at(-1)?.promise ?? null;
  };
  const first = devices.assign(TV, { rate: { down: 5, up: 5 } });
  await until(() => held.length === 1, HANGS_AFTER_MS, 1);
  const removed = tunnels.remove("amsterdam");
  await Bun.sleep(20);
  const second = devices.assign(LAPTOP, { rate: { down: 5, up: 5 } });
  await Bun.sleep(20);
  held[0]?.resolve();
  await until(() => held.length === 2, HANGS_AFTER_MS, 1);
  await Bun.sleep(20);
  return {
    release: () => {
      home.host.holds = () => null;
      held[1]?.resolve();
      return Promise.all([first, second, removed]);
    },
  };
}

test("a withdrawal does not wait for limits because a tunnel is being removed", async () => {
  await home.parts.devices.setDirect(true);
  await add({ prefixes: ["192.0.2.0/24"], exit: "direct" });
  const { release } = await holdRemoval();
  const isBlocked = async () => (await list())[0].exit === "blocked";
  void withdrawDirect(home.parts);
  await until(isBlocked, HANGS_AFTER_MS);
  await release();
});

test("a rule that blocks does not wait for limits because a tunnel is being removed", async () => {
  const { release } = await holdRemoval();
  expect(await within(add({ prefixes: ["192.0.2.0/24"], exit: "blocked" }))).toBe("ended");
  await release();
});

test("what root allows after it has begun to withdraw is allowed in the end", async () => {
  const { devices } = home.parts;
  await devices.setDirect(true);
  await add({ prefixes: ["192.0.2.0/24"], exit: "direct" });
  const off = withdrawDirect(home.parts);
  const on = await devices.setDirect(true);
  await off;
  expect([on.allowed, devices.direct.allowed]).toEqual([true, true]);
});

test("a withdrawal that is under way answers what is true, twice at once", async () => {
  const { devices } = home.parts;
  await devices.setDirect(true);
  await add({ prefixes: ["192.0.2.0/24"], exit: "direct" });
  const both = await Promise.all([withdrawDirect(home.parts), withdrawDirect(home.parts)]);
  expect(both.map(({ allowed }) => allowed)).toEqual([false, false]);
  expect(await list()).toMatchObject([{ exit: "blocked" }]);
  await devices.setDirect(true);
  expect(await add({ prefixes: ["198.51.100.0/24"], exit: "direct" })).toMatchObject({ status: 200 });
});

test.each([true, false])(
  "on a full disk the withdrawal holds and says so, with rules: %p",
  async (hasRules) => {
    const { devices, store } = home.parts;
    await devices.setDirect(true);
    await devices.assign(TV, { exit: "direct" });
    if (hasRules) await add({ prefixes: ["192.0.2.0/24"], exit: "direct" });
    const { atomically } = store;
    store.atomically = () => {
      throw new GatewayError("storage_full", "The database could not be written: the disk is full.");
    };
    const text = await withdrawDirect(home.parts).then(String, (error) => String(error.message));
    expect(text).toContain("The change is in force, but a restart would undo it");
    expect([devices.direct, (await list()).map(({ exit }: { exit: string }) => exit)]).toEqual([
      { allowed: false, devices: [] },
      hasRules ? ["blocked"] : [],
    ]);
    store.atomically = atomically;
    await withdrawDirect(home.parts);
    expect([store.read("direct"), home.parts.destinations.list().destinations.length]).toEqual([
      null,
      hasRules ? 1 : 0,
    ]);
  },
);

test("a restore while a removal of a tunnel waits for a change of devices blocks nobody for ever", async () => {
  const { devices, destinations, tunnels } = home.parts;
  await home.ask("PUT", "/api/tunnels/amsterdam", { provider: "managed", server: "se-1" });
  const held = Promise.withResolvers<void>();
  const busy = devices.unlessUsed("oslo", () => held.promise);
  await Bun.sleep(20);
  const removed = tunnels.remove("amsterdam");
  await Bun.sleep(0);
  // As in the stages.
  const permitted = devices.reload();
  const read = Promise.all([permitted, destinations.reload(permitted)]);
  await Bun.sleep(20);
  held.resolve();
  expect(await Promise.all([within(busy), within(removed), within(read)])).toEqual([
    "ended",
    "ended",
    "ended",
  ]);
});

test("a withdrawal beside a removal of a tunnel blocks nobody for ever", async () => {
  const { devices, tunnels } = home.parts;
  await devices.setDirect(true);
  await add({ prefixes: ["192.0.2.0/24"], exit: "direct" });
  await home.ask("PUT", "/api/tunnels/amsterdam", { provider: "managed", server: "se-1" });
  const all = await Promise.all([
    within(withdrawDirect(home.parts)),
    within(tunnels.remove("amsterdam")),
    within(withdrawDirect(home.parts)),
  ]);
  expect(all).toEqual(["ended", "ended", "ended"]);
});

test("a removal of a tunnel beside a restore through the interface leaves root able to withdraw direct", async () => {
  const { devices, liveBackup } = home.parts;
  await home.ask("PUT", "/api/tunnels/amsterdam", { provider: "managed", server: "se-1" });
  await home.ask("POST", "/api/tunnels/amsterdam/disconnect");
  await devices.setDirect(true);
  const contents = liveBackup.take();
  const held = Promise.withResolvers<void>();
  home.host.holds = (command) => {
    return /^nft -|elements/.test(command) ? held.promise : null;
  };
  // The kernel takes a moment for it.
  const busy = devices.assign(TV, { exit: "direct" });
  await Bun.sleep(20);
  const removed = home.ask("DELETE", "/api/tunnels/amsterdam");
  await Bun.sleep(20);
  const restored = liveBackup.restore(contents, { replace: true, direct: true, killswitchOff: false });
  await Bun.sleep(20);
  home.host.holds = () => null;
  held.resolve();
  const ends = await Promise.all([within(busy), within(removed), within(restored)]);
  expect([...ends, await within(withdrawDirect(home.parts))]).not.toContain("hangs");
});

test("while the kernel's tools hang, a restart after a withdrawal was asked for gives no device direct", async () => {
  const { devices, store } = home.parts;
  await devices.setDirect(true);
  await devices.assign(TV, { exit: "direct" });
  await add({ prefixes: ["192.0.2.0/24"], exit: "direct" });
  const held = Promise.withResolvers<void>();
  home.host.holds = (command) => (command.startsWith("nft") ? held.promise : null);
  const withdrawn = withdrawDirect(home.parts);
  // If it were saved only with the kernel's answer, this would never come.
  await until(() => store.read("direct") === null);
  home.host.holds = () => null;
  held.resolve();
  await withdrawn;
});

/** All that holds up the kill switch's table. */
function holdFirewall(): { count: () => number; release: () => void } {
  const held = Promise.withResolvers<void>();
  let count = 0;
  home.host.holds = (command) => {
    if (!/^nft|elements/.test(command)) return null;
    count += 1;
    return held.promise;
  };
  return {
    count: () => count,
    release: () => {
      home.host.holds = () => null;
      held.resolve();
    },
  };
}

test("root can permit direct again after the kernel has refused its withdrawal", async () => {
  const { devices } = home.parts;
  await devices.setDirect(true);
  await devices.assign(TV, { exit: "direct" });
  home.host.fails = () => "before";
  await expect(withdrawDirect(home.parts)).rejects.toThrow("made to fail");
  home.host.fails = () => null;
  expect(devices.direct.allowed).toBe(true);
  // What root is told.
  expect((await devices.setDirect(true)).allowed).toBe(true);
  expect(await add({ prefixes: ["192.0.2.0/24"], exit: "direct" })).toMatchObject({ status: 200 });
});

test("a rule that a restart has found blocked is not direct once root permits direct for another", async () => {
  await home.parts.devices.setDirect(true);
  await add({ prefixes: ["192.0.2.0/24"], exit: "direct" });
  await refuseRules();
  // kill -9 before it is tried again.
  const second = await partsOn(home.host, home.parts.settings);
  const exits = (parts: typeof second) => parts.destinations.list().destinations.map(({ exit }) => exit);
  expect(exits(second)).toEqual(["blocked"]);
  await withdrawDirect(second);
  await second.devices.setDirect(true);
  expect(exits(second)).toEqual(["blocked"]);
  const third = await partsOn(home.host, home.parts.settings);
  const found = exits(third);
  second.store.close();
  third.store.close();
  expect(found).toEqual(["blocked"]);
});

test("the same after a kill -9 in the middle of a withdrawal", async () => {
  const { devices, store, settings } = home.parts;
  await devices.setDirect(true);
  await add({ prefixes: ["192.0.2.0/24"], exit: "direct" });
  // The kernel is at work on another rule.
  const { count, release } = holdFirewall();
  const other = add({ prefixes: ["198.51.100.0/24"], exit: "blocked" });
  await until(() => count() >= 1, HANGS_AFTER_MS, 1);
  const withdrawn = withdrawDirect(home.parts);
  await until(() => store.read("direct") === null, HANGS_AFTER_MS, 1);
  const rows = store.read("destinations");
  release();
  await Promise.all([other, withdrawn]);
  store.write("destinations", rows as string);
  const second = await partsOn(home.host, settings);
  const exitsOf = ({ destinations }: typeof second) =>
    destinations.list().destinations.map(({ exit }) => exit);
  expect(exitsOf(second)).not.toContain("direct");
  // As while the service runs.
  const stopping = new AbortController();
  const watched = second.destinations.watch(stopping.signal);
  await second.devices.setDirect(true);
  expect(exitsOf(second)).not.toContain("direct");
  stopping.abort();
  await watched;
  const third = await partsOn(home.host, settings);
  const found = exitsOf(third);
  second.store.close();
  third.store.close();
  expect(found).not.toContain("direct");
});

test.each([false, true])(
  "what is tried again blocks no rule that a restore with root's permission has brought: %p",
  async (isDue) => {
    const { devices, destinations, liveBackup } = home.parts;
    await devices.setDirect(true);
    await add({ prefixes: ["192.0.2.0/24"], exit: "direct" });
    const contents = liveBackup.take();
    await refuseRules();
    // The kernel is at work on another rule.
    const { count, release } = holdFirewall();
    const other = add({ prefixes: ["198.51.100.0/24"], exit: "blocked" });
    await until(() => count() >= 1, HANGS_AFTER_MS, 1);
    const stopping = new AbortController();
    const watched = destinations.watch(stopping.signal);
    if (isDue) await home.pass(15_000);
    const restored = liveBackup.restore(contents, MAY);
    await Bun.sleep(30);
    release();
    await Promise.all([other, restored]);
    stopping.abort();
    await watched;
    expect(devices.direct.allowed).toBe(true);
    expect(
      (await list()).find(({ prefixes }: { prefixes: string[] }) => prefixes[0] === "192.0.2.0/24").exit,
    ).toBe("direct");
  },
);

test("rules that root has permitted stay in the database, even if the kernel refuses the permission that a restore brings", async () => {
  const { devices, destinations, store, liveBackup } = home.parts;
  await devices.setDirect(true);
  await devices.assign(TV, { exit: "direct" });
  await add({ prefixes: ["192.0.2.0/24"], exit: "direct" });
  const contents = liveBackup.take();
  await withdrawDirect(home.parts);
  home.host.fails = () => "before";
  await liveBackup.restore(contents, MAY).catch(() => {});
  home.host.fails = () => null;
  const stopping = new AbortController();
  const watched = destinations.watch(stopping.signal);
  await home.pass(15_000);
  stopping.abort();
  await watched;
  expect(store.read("direct")).toBe("on");
  expect(store.read("destinations")).toContain('"exit":"direct"');
});

test("a change that the kernel then refuses does not keep a tunnel", async () => {
  const { devices, tunnels } = home.parts;
  await home.ask("PUT", "/api/tunnels/amsterdam", { provider: "managed", server: "se-1" });
  const { count, release } = holdFirewall();
  home.host.fails = (at) => (/^nft|elements/.test(home.host.commands[at - 1] ?? "") ? "before" : null);
  const given = devices.assign(TV, { exit: "amsterdam" }).catch((error) => `${error}`);
  await until(() => count() >= 1, HANGS_AFTER_MS, 1);
  const removed = within(tunnels.remove("amsterdam"));
  await Bun.sleep(20);
  release();
  expect(await given).toContain("made to fail");
  home.host.fails = () => null;
  expect(await removed).toBe("ended");
});

test.each([
  ["device", false],
  ["rule", false],
  ["device", true],
  ["rule", true],
])("a restore beside the removal of a tunnel leaves no %s without its exit: %p", async (what, isBeside) => {
  const { devices, destinations, tunnels, liveBackup } = home.parts;
  await home.ask("PUT", "/api/tunnels/amsterdam", { provider: "managed", server: "se-1" });
  await home.ask("POST", "/api/tunnels/amsterdam/disconnect");
  if (what === "device") await devices.assign(TV, { exit: "amsterdam" });
  else await add({ prefixes: ["192.0.2.0/24"], exit: "amsterdam" });
  const contents = liveBackup.take();
  if (what === "device") await devices.assign(TV, { exit: "blocked" });
  else for (const { id } of await list()) await home.ask("DELETE", `/api/destinations/${id}`);
  const { count, release } = holdFirewall();
  const other = devices.assign("02:00:00:00:00:21", { exit: "blocked" });
  await until(() => count() >= 1, HANGS_AFTER_MS, 1);
  const removed = within(tunnels.remove("amsterdam"));
  await Bun.sleep(20);
  if (!isBeside) release();
  if (!isBeside) await removed;
  const restored = within(liveBackup.restore(contents, MAY));
  await Bun.sleep(30);
  release();
  await other;
  expect([await restored]).toEqual(["ended"]);
  await removed;
  const isThere = tunnels.find("amsterdam") !== null;
  const leadsThere =
    devices.exitOf(TV as never) === "amsterdam" ||
    destinations.list().destinations.some(({ exit }) => exit === "amsterdam");
  expect({ isThere, leadsThere }).not.toEqual({ isThere: false, leadsThere: true });
});

test("a rule blocks although the kernel does not answer for limits that were restored", async () => {
  const { devices, liveBackup } = home.parts;
  await devices.assign(TV, { rate: { down: 5, up: 5 } });
  const contents = liveBackup.take();
  await devices.assign(TV, { rate: null });
  const held = Promise.withResolvers<void>();
  let count = 0;
  home.host.holds = (command) => {
    if (command !== LIMITS_CHANGE) return null;
    count += 1;
    return held.promise;
  };
  const restored = liveBackup.restore(contents, MAY);
  await until(() => count === 1, HANGS_AFTER_MS, 1);
  const ended = await within(add({ prefixes: ["192.0.2.0/24"], exit: "blocked" }));
  home.host.holds = () => null;
  held.resolve();
  await restored;
  expect(ended).toBe("ended");
});
