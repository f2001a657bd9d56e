import { afterEach, describe, expect, test } from "bun:test";
import { PortRefusal, type TunnelEnd } from "../../../src/forwards/opener.ts";
import { slotOf } from "../../../src/network/slot.ts";
import { pia } from "../../../src/providers/pia/pia.ts";
import { AccountOpener } from "../../../src/providers/ports.ts";
import { readList } from "../../../src/servers/lists/list.ts";
import { sessionFor } from "../../../src/tunnel/session.ts";
import { ip } from "../../fake/address.ts";
import { server } from "../../tunnel/gateway.ts";
import { failure, Home } from "../home.ts";
import { FakePia, PASSWORD, USER } from "./site.ts";

const MINUTE_MS = 60_000;
const DAY_MS = 86_400_000;
const TCP = { protocol: "tcp" } as const;
const never = new AbortController().signal;

const homes: Home[] = [];
afterEach(() => {
  for (const home of homes.splice(0)) home.end();
});

async function begin() {
  const site = new FakePia();
  const home = new Home(pia, site.send);
  homes.push(home);
  site.now = home.now;
  await home.logIn(USER, PASSWORD);
  site.asked.length = 0;
  const opener = new AccountOpener({ ...home, send: () => site.send, now: () => home.now });
  const pass = (ms: number) => {
    home.now += ms;
    site.now += ms;
  };
  return { site, home, opener, pass };
}

function wayTo(
  name: string,
  { opensPorts, slot = 0 }: { opensPorts?: false; slot?: number } = {},
): TunnelEnd {
  const listed = {
    ...server(name, 1),
    location: "Denver, United States",
    ...(opensPorts === false && { opensPorts }),
  };
  const endpoint = { address: ip("198.51.100.24"), port: 1337 };
  return {
    tunnel: slot === 0 ? "main" : "work",
    session: sessionFor(slotOf(slot, "wg"), listed, endpoint, null),
  };
}

describe("PIA's port", () => {
  test("is reserved and bound at the server of the tunnel", async () => {
    const { site, opener } = await begin();
    const way = wayTo("berlin424");
    expect(await opener.open(way, TCP, never)).toEqual({
      protocol: "tcp",
      external: 47_000,
      inside: 47_000,
      address: null,
      renewAfterMs: 15 * MINUTE_MS,
      expiresAfterMs: 30 * MINUTE_MS,
    });
    expect(site.asked).toEqual(["GET /getSignature", "GET /bindPort"]);
    expect(await opener.publicAddress(way)).toBe(ip("198.51.100.24"));
    expect(site.bound).toEqual(["berlin424 47000"]);
  });

  test("is the same on another server, for the other protocol and after a restart", async () => {
    const { site, home, opener } = await begin();
    const port = await opener.open(wayTo("berlin424"), TCP, never);
    await opener.renew(wayTo("berlin424"), port, never);
    await opener.open(wayTo("paris402"), { protocol: "udp" }, never);
    const again = new Home(pia, site.send, home.directory);
    again.now = home.now;
    const restarted = new AccountOpener({ ...again, send: () => site.send, now: () => again.now });
    await restarted.open(wayTo("paris402"), TCP, never);
    again.store.close();
    expect(site.bound).toEqual(["berlin424 47000", "berlin424 47000", "paris402 47000", "paris402 47000"]);
  });

  test("is another one once the reservation has expired, and is renewed just before", async () => {
    const { site, opener, pass } = await begin();
    const way = wayTo("berlin424");
    const port = await opener.open(way, TCP, never);
    pass(62 * DAY_MS - 40 * MINUTE_MS);
    expect(await opener.renew(way, port, never)).toMatchObject({ external: 47_000 });
    pass(15 * MINUTE_MS);
    expect(await opener.renew(way, port, never)).toMatchObject({ external: 47_001 });
    expect(site.bound).toEqual(["berlin424 47000", "berlin424 47000", "berlin424 47001"]);
  });

  test("is renewed once a minute at the most, even if the clock is wrong and each reservation seems to be over", async () => {
    const { site, home, opener } = await begin();
    const way = wayTo("berlin424");
    home.now += 365 * DAY_MS;
    const port = await opener.open(way, TCP, never);
    expect(port).toMatchObject({ external: 47_000, renewAfterMs: MINUTE_MS, expiresAfterMs: 30 * MINUTE_MS });
    expect(await opener.renew(way, port, never)).toMatchObject({ renewAfterMs: MINUTE_MS });
    expect(site.bound).toHaveLength(2);
  });

  test("is another one if the server no longer accepts the reservation", async () => {
    const { site, opener } = await begin();
    const way = wayTo("berlin424");
    const port = await opener.open(way, TCP, never);
    site.signatures.clear();
    expect(await opener.renew(way, port, never)).toMatchObject({ external: 47_001 });
  });

  test("is kept if the server does not answer for a while", async () => {
    const { site, opener } = await begin();
    const way = wayTo("berlin424");
    const port = await opener.open(way, TCP, never);
    site.mishap("GET /bindPort", null);
    expect(await failure(opener.renew(way, port, never))).toBe(
      "berlin424:19999 cannot be asked: the connection was closed",
    );
    expect(await opener.renew(way, port, never)).toMatchObject({ external: 47_000 });
  });

  test("is reserved with a new token if the old one was withdrawn", async () => {
    const { site, opener } = await begin();
    site.revoke();
    expect(await opener.open(wayTo("berlin424"), TCP, never)).toMatchObject({ external: 47_000 });
    expect(site.asked).toEqual([
      "GET /getSignature",
      "POST /api/client/v2/token",
      "GET /getSignature",
      "GET /bindPort",
    ]);
  });

  test("does not bring back an account that was logged out meanwhile", async () => {
    const { site, home, opener } = await begin();
    const { send } = site;
    const slow = new AccountOpener({
      ...home,
      now: () => home.now,
      send: () => async (request) => {
        if (request.url.includes("getSignature")) await home.accounts.logOut("pia", false);
        return send(request);
      },
    });
    expect(await failure(slow.open(wayTo("berlin424"), TCP, never))).toContain("no readable account at PIA");
    expect(home.stored).toBeNull();
    expect(opener.kind).toBe("pia");
  });

  test("is forgotten with the account, and nothing of it is shown", async () => {
    const { home, opener } = await begin();
    await opener.open(wayTo("berlin424"), TCP, never);
    expect(home.stored).toContain('"port":{"payload":"');
    expect(JSON.stringify(await home.accounts.show("pia"))).not.toContain("payload");
    await home.accounts.logOut("pia", false);
    expect(home.stored).toBeNull();
  });
});

describe("a refusal says what to do:", () => {
  const refusal = (work: Promise<unknown>) => work.catch((error: unknown) => error);

  test("a region without forwarded ports, without asking", async () => {
    const { site, opener } = await begin();
    const refused = await refusal(opener.open(wayTo("denver401", { opensPorts: false }), TCP, never));
    expect(refused).toBeInstanceOf(PortRefusal);
    expect(refused).toMatchObject({
      reason: "unsupported",
      message:
        "PIA opens no ports in the region of denver401 (Denver, United States); connect to another region, outside the United States",
    });
    expect(site.asked).toEqual([]);
  });

  test("a tunnel other than main", async () => {
    const { opener } = await begin();
    const refused = await refusal(opener.open(wayTo("berlin424", { slot: 1 }), TCP, never));
    expect(refused).toMatchObject({
      reason: "unsupported",
      message: "PIA's port can be opened on the main tunnel only; use that one",
    });
  });

  test.each([
    [
      "an account that has expired",
      402,
      "{}",
      "the account has expired; renew it at https://www.privateinternetaccess.com/",
    ],
    ["too many attempts", 429, "{}", "too many attempts; try again in a few minutes"],
  ])("%s", async (_, status, body, message) => {
    const { site, opener } = await begin();
    site.mishap("GET /getSignature", { status, body });
    const refused = await refusal(opener.open(wayTo("berlin424"), TCP, never));
    expect(refused).toBeInstanceOf(PortRefusal);
    expect(refused).toMatchObject({ reason: "refused", message });
  });

  const unusable = "the provider's answer contains no usable port; try again later";
  const signed = (payload: unknown) =>
    JSON.stringify({
      status: "OK",
      signature: "AA==",
      payload: Buffer.from(JSON.stringify(payload)).toString("base64"),
    });
  test.each([
    ["no JSON", "<html>"],
    ["no signature", '{"status":"OK","payload":"e30="}'],
    ["a payload that is not base64", '{"status":"OK","payload":"a b","signature":"AA=="}'],
    ["an empty payload", signed({})],
    ["a port that is none", signed({ port: 70_000, expires_at: "2027-01-01T00:00:00Z" })],
    ["a date that is none", signed({ port: 47_000, expires_at: "2027-13-41T99:00:00Z" })],
    ["no date", signed({ port: 47_000, expires_at: "soon" })],
  ])("%s in the answer", async (_, body) => {
    const { site, home, opener } = await begin();
    site.mishap("GET /getSignature", { body });
    const error = await refusal(opener.open(wayTo("berlin424"), TCP, never));
    expect(error).not.toBeInstanceOf(PortRefusal);
    expect(error).toMatchObject({ message: unusable });
    expect(home.stored).not.toContain("payload");
  });
});

test("the list says which regions open no ports", () => {
  const region = (name: string, cn: string, rest: object) => ({
    name,
    country: "DE",
    servers: { wg: [{ ip: "192.0.2.24", cn }] },
    ...rest,
  });
  const regions = [
    region("DE Berlin", "berlin424", { port_forward: true }),
    region("DE Bonn", "bonn1", { port_forward: false }),
    region("DE Kiel", "kiel1", {}),
  ];
  const { servers } = readList(JSON.stringify({ groups: {}, regions }));
  expect(servers.map(({ name, opensPorts }) => [name, opensPorts])).toEqual([
    ["berlin424", undefined],
    ["bonn1", false],
    ["kiel1", undefined],
  ]);
});
