import { afterEach, beforeEach, expect } from "bun:test";
import { slow } from "../fast.ts";
import { Home } from "./home.ts";

const { test } = slow;

/** The first two agree on keys that are safe from quantum computers. */
const LIST = [1, 2, 3].map((number) => ({
  ...{ hostname: `se-${number}`, country: "Sweden", city: "Stockholm", ipv4: `192.0.2.1${number}` },
  ...{ port: 51820, public_key: new Uint8Array(32).fill(number).toBase64(), provider: "Box" },
  ...(number < 3 && { ephemeral_peers: true }),
}));
const REFUSED =
  "quantum: se-3 agrees on no keys that are safe from quantum computers; only Mullvad's servers do. Choose one of them, or off";

let home: Home;
beforeEach(async () => {
  home = await Home.listing(LIST);
});
afterEach(() => home.stop());

const connect = (server: string, quantum?: string) => home.ask("POST", "/api/connect", { server, quantum });
const rowOf = async () => (await home.send("GET", "/api/tunnels")).json.tunnels[0];
const OK = { status: 200, success: true };

test("what is asked for is told, and kept for the tunnel until something else is asked for", async () => {
  expect((await rowOf()).wanted_quantum).toBeUndefined();
  // Nothing listens inside the tunnel here: it goes on without.
  expect(await connect("se-1", "on")).toEqual(OK);
  expect(await home.status()).toMatchObject({ connected: true, server: "se-1", quantum: false });
  expect(await rowOf()).toMatchObject({ quantum: false, wanted_quantum: "on" });
  expect(home.parts.savedState.connection()).toMatchObject({ name: "se-1", quantum: "on" });
  expect(await connect("se-2")).toEqual(OK);
  expect(await home.status()).toMatchObject({ server: "se-2", quantum: false });
  await home.ask("POST", "/api/disconnect");
  expect(await rowOf()).toMatchObject({ wanted: null, wanted_quantum: "on" });
  expect(await connect("se-1")).toEqual(OK);
  expect(await home.status()).toMatchObject({ server: "se-1", quantum: false });
  // A server without such keys is connected to as always, and the next one has them again.
  expect(await connect("se-3")).toEqual(OK);
  expect((await home.status()).quantum).toBeUndefined();
  expect(await rowOf()).toMatchObject({ wanted_quantum: "on" });
  expect(await connect("se-1")).toEqual(OK);
  expect(await home.status()).toMatchObject({ quantum: false });
  expect(await connect("se-1", "off")).toEqual(OK);
  expect((await home.status()).quantum).toBeUndefined();
  expect((await rowOf()).wanted_quantum).toBeUndefined();
  expect(home.parts.savedState.connection()).not.toHaveProperty("quantum");
}, 180_000);

test("what is required is not left out by a connect that does not mention it", async () => {
  const failed = await connect("se-1", "require");
  expect([failed.status, failed.error]).toEqual([
    500,
    "se-1 agreed on no keys that are safe from quantum computers: 10.64.0.1:1337 takes no connections",
  ]);
  expect(await connect("se-2")).toMatchObject({ status: 500 });
  expect(await connect("se-3")).toEqual({ status: 400, success: false, error: REFUSED } as object as never);
  expect(await home.status()).toMatchObject({ connected: false });
  expect(await connect("se-2", "off")).toEqual(OK);
});

test("a server that does not offer it refuses in words, and a place has only servers that do", async () => {
  expect(await connect("se-3", "on")).toMatchObject({ status: 400, error: REFUSED });
  const wrong = await connect("se-1", "yes");
  expect([wrong.status, wrong.error?.includes("quantum")]).toEqual([400, true]);
  expect(await home.ask("PUT", "/api/tunnels/tv", { server: "Sweden", quantum: "on" })).toEqual(OK);
  const { tunnels } = (await home.send("GET", "/api/tunnels")).json;
  expect(tunnels[1]).toMatchObject({ wanted: "Sweden", wanted_quantum: "on", quantum: false });
  expect(["se-1", "se-2"]).toContain(tunnels[1].server);
  // What was kept for a tunnel ends with it.
  await home.ask("DELETE", "/api/tunnels/tv");
  await home.ask("PUT", "/api/tunnels/tv", { server: "se-3" });
  expect((await home.send("GET", "/api/tunnels")).json.tunnels[1].wanted_quantum).toBeUndefined();
});
