import { afterEach, beforeEach, expect } from "bun:test";
import { slow } from "../fast.ts";
import { Home } from "./home.ts";

const { test } = slow;

const LIST = [1, 2, 3].map((number) => ({
  ...{ hostname: `se-${number}`, country: number === 3 ? "Norway" : "Sweden", city: `City ${number}` },
  ...{ ipv4: `192.0.2.1${number}`, port: 51820, public_key: new Uint8Array(32).fill(number).toBase64() },
  ...{ provider: "Box", ...(number === 1 && { udp2tcp: [443] }) },
}));

let home: Home;
beforeEach(async () => {
  home = await Home.listing(LIST);
});
afterEach(() => home.stop());

const connect = (body: object) => home.ask("POST", "/api/connect", body);
const rows = async () => (await home.send("GET", "/api/tunnels")).json.tunnels;
const OK = { status: 200, success: true };

test("the first of several targets is taken, and all are told and saved in their order", async () => {
  const targets = [{ server: "se-1", transport: "plain" }, { server: "Norway" }, { server: "se-1" }];
  expect(await connect({ targets })).toEqual(OK);
  const order = {
    ...{ targets: targets.map((each) => ({ provider: "managed", ...each })), at: 0, back_after_minutes: 10 },
  };
  expect(await home.status()).toMatchObject({ connected: true, server: "se-1", order });
  expect((await rows())[0]).toMatchObject({ wanted: "se-1", wanted_transport: "plain", order });
  expect(home.parts.savedState.connection()).toMatchObject({ name: "se-1", order });
  // Another order is another wish, though the tunnel is there already.
  expect(
    await connect({ targets: [{ server: "Sweden", transport: "plain" }, { server: "Norway" }] }),
  ).toEqual(OK);
  expect((await home.status()).order).toMatchObject({ targets: [{ server: "Sweden" }, {}], at: 0 });
});

test("when to go back is kept with the order, or that it never does", async () => {
  const targets = [{ server: "se-1" }, { server: "se-2" }];
  expect(await connect({ targets, back_after_minutes: 90, back_when_quiet: true })).toEqual(OK);
  expect((await home.status()).order).toMatchObject({ back_after_minutes: 90, back_when_quiet: true });
  expect(await connect({ targets, back_after_minutes: 0 })).toEqual(OK);
  expect(home.parts.savedState.connection()?.order).not.toHaveProperty("back_after_minutes");
  for (const wrong of [-1, 1.5, 1_441, "soon"])
    expect((await connect({ targets, back_after_minutes: wrong })).status).toBe(400);
  expect(await connect({ server: "se-1", back_after_minutes: 5 })).toMatchObject({
    status: 400,
    error: "back_after_minutes: it needs targets",
  });
  expect((await home.status()).order).not.toHaveProperty("back_after_minutes");
});

test("in which states a target is left is kept with the order", async () => {
  const targets = [{ server: "se-1" }, { server: "se-2" }];
  expect(await connect({ targets, move_when: ["lossy", "slow"] })).toEqual(OK);
  expect((await home.status()).order).toMatchObject({ move_when: ["slow", "lossy"] });
  for (const wrong of [["dead"], ["slow", "slow"], "slow", ["slow", "lossy", "good"]])
    expect(await connect({ targets, move_when: wrong })).toMatchObject({
      status: 400,
      error: expect.stringMatching(/^move_when/),
    });
  expect(await connect({ server: "se-1", move_when: ["slow"] })).toMatchObject({
    status: 400,
    error: "move_when: it needs targets",
  });
  expect(await connect({ targets: [{ server: "se-2" }], move_when: ["slow"] })).toMatchObject({
    status: 400,
    error: "move_when: it needs another target to move to",
  });
  expect(await home.status()).toMatchObject({ server: "se-1", order: { move_when: ["slow", "lossy"] } });
  expect(await connect({ targets, move_when: [] })).toEqual(OK);
  expect((await home.status()).order).not.toHaveProperty("move_when");
});

test("of two connects to the same targets at once, the wish of the second when to go back is kept", async () => {
  const targets = [{ server: "se-1" }, { server: "se-2" }];
  const held = home.hold("wg setconf wg0 /dev/stdin");
  const first = connect({ targets, back_after_minutes: 5 });
  // Two requests do not always arrive in the order in which they were sent.
  await held.begun;
  const second = connect({ targets, back_after_minutes: 7 });
  held.release();
  expect(await second).toEqual(OK);
  await first;
  expect((await home.status()).order).toMatchObject({ back_after_minutes: 7 });
});

test("each tunnel has an order of its own, which ends with a connect to one target or none", async () => {
  const targets = [{ server: "Norway" }, { server: "se-2", provider: "managed" }];
  expect(await home.ask("PUT", "/api/tunnels/tv", { provider: "managed", targets })).toEqual(OK);
  expect((await rows())[1]).toMatchObject({ name: "tv", server: "se-3", order: { at: 0 } });
  expect(await home.ask("PUT", "/api/tunnels/tv", { targets: [{ server: "se-2" }] })).toEqual(OK);
  const row = (await rows())[1];
  expect([row.server, row.order]).toEqual(["se-2", undefined]);
  expect(await home.ask("PUT", "/api/tunnels/tv", { targets })).toEqual(OK);
  await home.ask("POST", "/api/tunnels/tv/disconnect");
  expect((await rows())[1].order).toBeUndefined();
});

test("what cannot be is refused in words, and changes nothing", async () => {
  await connect({ server: "se-1" });
  const [one, two] = [{ server: "se-1" }, { server: "se-2" }];
  const refused: [object, string | RegExp][] = [
    [{}, "server is required"],
    [{ server: "se-1", targets: [one, two] }, "server: it belongs in each of the targets"],
    [{ via: "se-1", targets: [one, two] }, "via: it belongs in each of the targets"],
    [{ targets: [one, two, one] }, "targets: 3: se-1 is there twice"],
    [{ targets: [one, { server: "se-9" }] }, /^targets: 2: server: /],
    [{ targets: [one, { server: "se-2", transport: "udp2tcp" }] }, /^targets: 2: transport: se-2 does not/],
    [{ targets: [one, { provider: "managed" }] }, "targets[1].server is required"],
    [{ targets: [] }, "targets must have 1 to 8 entries"],
    [{ targets: Array.from({ length: 9 }, () => one) }, "targets must have 1 to 8 entries"],
    [
      { targets: [one, { ...two, name: "x" }] },
      "unknown field targets[1].name: the known ones are server, provider, via, transport",
    ],
  ];
  for (const [body, words] of refused) {
    const { status, error } = await connect(body);
    expect([status >= 400, error], JSON.stringify(body)).toEqual([
      true,
      typeof words === "string" ? words : expect.stringMatching(words),
    ]);
  }
  expect(await home.status()).toMatchObject({ connected: true, server: "se-1" });
  expect(home.parts.savedState.connection()).not.toHaveProperty("order");
});

test("a target of the order is found by its names, and one that is gone is not", async () => {
  await connect({ targets: [{ server: "se-1" }, { server: "se-2" }] });
  const found = home.parts.tunnels.found({ provider: "managed", server: "se-2" }, "main");
  expect(found).toMatchObject({ name: "se-2" });
  expect(home.parts.tunnels.found({ provider: "managed", server: "se-9" }, "main")).toBeNull();
});
