import { afterEach, beforeEach, expect } from "bun:test";
import { slow } from "../fast.ts";
import { Home } from "./home.ts";

const { test } = slow;

/** The first one offers a relay. */
const LIST = [1, 2].map((number) => ({
  ...{ hostname: `se-${number}`, country: "Sweden", city: "Stockholm", ipv4: `192.0.2.1${number}` },
  ...{ port: 51820, public_key: new Uint8Array(32).fill(number).toBase64(), provider: "Box" },
  ...(number === 1 && { udp2tcp: [443, 80], lwo: true }),
}));

let home: Home;
beforeEach(async () => {
  home = await Home.listing(LIST);
});
afterEach(() => home.stop());

const connect = (server: string, transport?: string) =>
  home.ask("POST", "/api/connect", { server, transport });
const rowOf = async () => (await home.send("GET", "/api/tunnels")).json.tunnels[0];
const OK = { status: 200, success: true };

test("what is asked for is used, told and saved with the connection, until another one is asked for", async () => {
  expect(await connect("se-1", "udp2tcp")).toEqual(OK);
  const by = { transport: "udp2tcp", port: 443, ip: "192.0.2.11" };
  expect(await home.status()).toMatchObject({ connected: true, server: "se-1", ...by });
  expect(await rowOf()).toMatchObject({ server: "se-1", ...by, wanted_transport: "udp2tcp" });
  expect(home.parts.savedState.connection()).toMatchObject({ name: "se-1", transport: "udp2tcp" });
  // The same server in another way is another target.
  expect(await connect("se-1", "plain")).toEqual(OK);
  expect(await rowOf()).toMatchObject({ server: "se-1", wanted_transport: "plain" });
  expect((await home.status()).transport).toBeUndefined();
  expect(await connect("se-1")).toEqual(OK);
  const row = await rowOf();
  expect([row.transport, row.wanted_transport, row.port]).toEqual([undefined, undefined, undefined]);
  expect(home.parts.savedState.connection()).not.toHaveProperty("transport");
});

test("a place has only servers that offer what is asked for", async () => {
  expect(await home.ask("PUT", "/api/tunnels/tv", { server: "Sweden", transport: "udp2tcp" })).toEqual(OK);
  const { tunnels } = (await home.send("GET", "/api/tunnels")).json;
  expect(tunnels[1]).toMatchObject({ name: "tv", server: "se-1", wanted: "Sweden", transport: "udp2tcp" });
});

test("what a server does not offer is refused in words, and changes nothing", async () => {
  await connect("se-1", "udp2tcp");
  expect(await connect("se-2", "udp2tcp")).toMatchObject({
    status: 400,
    error: "transport: se-2 does not offer udp2tcp; choose another server, or auto",
  });
  const wrong = await connect("se-1", "tcp");
  expect([wrong.status, wrong.error?.includes("transport")]).toEqual([400, true]);
  expect(await home.status()).toMatchObject({ server: "se-1", transport: "udp2tcp" });
});
