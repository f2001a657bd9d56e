import { afterAll, beforeAll, expect } from "bun:test";
import { mkdtempSync, readFileSync, rmSync } from "node:fs";
import { createServer, type Server } from "node:https";
import type { AddressInfo } from "node:net";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { ivpn } from "../../src/providers/ivpn/ivpn.ts";
import { nordvpn } from "../../src/providers/nordvpn/nordvpn.ts";
import { PIA_AUTHORITY } from "../../src/providers/pia/authority.ts";
import { pia } from "../../src/providers/pia/pia.ts";
import type { Send } from "../../src/system/host.ts";
import { ask } from "../../src/system/https.ts";
import { publicKeyOf } from "../../src/wireguard/key.ts";
import { ip } from "../fake/address.ts";
import { slow } from "../fast.ts";
import { makeSignedCertificate } from "../system/certificate.ts";
import { failure, Home } from "./home.ts";
import { FakeIvpn, ID } from "./ivpn/site.ts";
import { serveProvider } from "./mullvad/server.ts";
import { FakeNord, TOKEN } from "./nordvpn/site.ts";
import { BERLIN, FakePia, PASSWORD, USER } from "./pia/site.ts";
import type { FakeSite } from "./site.ts";

const { describe, test } = slow;

const DAY_MS = 86_400_000;
/** Enough for a request on a busy machine, and short for a server that does not answer. */
const PATIENCE_MS = 1_500;

const SITES = ["www.privateinternetaccess.com", "berlin424", "api.ivpn.net", "api.nordvpn.com"];
let folder: string;
/** By the name in the certificate. */
const servers = new Map<string, { server: Server; authority: string }>();
let site: FakeSite;
/** While set, requests are read and not answered. */
let isSlow = false;

beforeAll(async () => {
  folder = mkdtempSync(join(tmpdir(), "portcullis-tls-"));
  for (const name of SITES) {
    const files = await makeSignedCertificate(folder, name);
    const answer = serveProvider((request) => {
      if (isSlow) return new Promise(() => {});
      const { pathname, search } = new URL(request.url);
      const port = name !== "berlin424" ? "" : pathname === "/addKey" ? ":1337" : ":19999";
      return site.send({ ...request, url: `https://${name}${port}${pathname}${search}` });
    });
    const server = createServer(
      { cert: readFileSync(files.certificate), key: readFileSync(files.key) },
      answer,
    );
    server.on("tlsClientError", () => {});
    await new Promise<void>((ready) => server.listen(0, "127.0.0.1", ready));
    servers.set(name, { server, authority: readFileSync(files.authority, "utf8") });
  }
});
afterAll(() => {
  for (const { server } of servers.values()) {
    server.closeAllConnections();
    server.close();
  }
  rmSync(folder, { recursive: true, force: true });
});

/** Over TLS to this machine, where the test's authorities stand in for PIA's own and for the well-known ones. */
const send: Send = (request) => {
  const url = new URL(request.url);
  const { server, authority } = servers.get(url.hostname) ?? {};
  if (server === undefined) throw new Error(`there is no server ${url.hostname}`);
  url.port = String(portOfServer(server));
  if (request.authority !== undefined) expect(request.authority).toBe(PIA_AUTHORITY);
  expect(request.authority !== undefined).toBe(url.hostname === "berlin424");
  const withinMs = Math.min(request.withinMs ?? PATIENCE_MS, PATIENCE_MS);
  const pinned = { ...request, url: url.href, addresses: ["127.0.0.1"], withinMs };
  return ask({ ...pinned, ...(authority !== undefined && { authority }) });
};

describe("the certificate of a server that is asked at its address", () => {
  const portOf = (name: string) => portOfServer(servers.get(name)?.server);
  const get = (name: string, port: number, authority?: string) =>
    failure(
      ask({
        url: `https://${name}:${port}/addKey`,
        method: "GET",
        headers: {},
        addresses: ["127.0.0.1"],
        ...(authority !== undefined && { authority }),
      }),
    );
  const authorityOf = (name: string) => servers.get(name)?.authority ?? "";

  test("must be for its name, and from the authority that is asked for", async () => {
    site = new FakePia();
    const port = portOf("berlin424");
    expect(await get("berlin424", port, authorityOf("berlin424"))).toBeNull();
    expect(await get("berlin425", port, authorityOf("berlin424"))).toBe(
      `the request to berlin425:${port} failed: its certificate is for another name`,
    );
    for (const authority of [undefined, PIA_AUTHORITY, authorityOf("api.ivpn.net")])
      expect(await get("berlin424", port, authority)).toContain("unable to verify the first certificate");
    // A well-known authority does not count beside it.
    expect(await get("berlin424", portOf("api.ivpn.net"), authorityOf("berlin424"))).not.toBeNull();
  });
});

test("a month with PIA: tokens expire or are withdrawn, ports change, servers forget keys, are slow, and the gateway restarts", async () => {
  const pias = new FakePia();
  site = pias;
  let home = new Home(pia, send);
  await home.logIn(USER, PASSWORD);
  const issued = () => pias.asked.filter((line) => line === "POST /api/client/v2/token").length;
  const outcomes: string[] = [];
  for (let day = 0; day < 30; day++) {
    if (day % 7 === 3) pias.revoke();
    if (day % 10 === 5) pias.port = 2000 + day;
    if (day % 9 === 4) pias.keys.clear();
    if (day === 12) pias.mishap("GET /addKey", { status: 502 });
    if (day === 20) pias.mishap("GET /addKey", { body: '{"status":"OK"}' });
    isSlow = day === 16;
    if (day === 24) {
      home.store.close();
      home = new Home(pia, send, home.directory);
      home.now = pias.now;
    }
    for (const hour of [0, 8, 16]) {
      home.now += 8 * 3_600_000;
      pias.now += 8 * 3_600_000;
      const outcome = await home.connections.register(BERLIN, send).catch((error: Error) => error);
      if (outcome instanceof Error) {
        outcomes.push(`${day} ${hour} ${outcome.message.replace(/ to \S+ failed/, " failed")}`);
        continue;
      }
      const { interface: own, peer } = outcome;
      expect(pias.keys.get(publicKeyOf(own.privateKey))).toBe(own.addresses[0]?.replace("/32", "") ?? "");
      expect(peer.endpoint).toEqual({ host: "192.0.2.24", port: pias.port });
    }
  }
  expect(outcomes).toEqual([
    "12 0 the provider has an internal problem (HTTP 502); try again later",
    "16 0 the request failed: no answer in time",
    "16 8 the request failed: no answer in time",
    "16 16 the request failed: no answer in time",
    "20 0 the provider's answer contains no usable key; try again later",
  ]);
  // One a day, but none on the day without answers; four were withdrawn, and one was lost by the restart.
  expect(issued()).toBeGreaterThanOrEqual(30);
  expect(issued()).toBeLessThanOrEqual(36);
  home.end();
}, 120_000);

test("a season with PIA's port: a server that fails, is slow, or no longer accepts what PIA reserved", async () => {
  const pias = new FakePia();
  site = pias;
  const home = new Home(pia, send);
  pias.now = home.now;
  await home.logIn(USER, PASSWORD);
  const server = { name: "berlin424", address: ip("192.0.2.24") };
  const outcomes: string[] = [];
  const ports = new Set<number>();
  for (let day = 0; day < 70; day++) {
    home.now += DAY_MS;
    pias.now += DAY_MS;
    if (day === 20) pias.revoke();
    if (day === 30) pias.mishap("GET /bindPort", { status: 502 });
    if (day === 40) pias.signatures.clear();
    isSlow = day === 50;
    const outcome = await home.connections.forwardPort(server, send).catch((error: Error) => error);
    if (outcome instanceof Error)
      outcomes.push(`${day} ${outcome.message.replace(/ to \S+ failed/, " failed")}`);
    else ports.add(outcome?.port ?? 0);
  }
  expect(outcomes).toEqual([
    "30 the provider has an internal problem (HTTP 502); try again later",
    "50 the request failed: no answer in time",
  ]);
  expect([...ports]).toEqual([47_000, 47_001]);
  expect(pias.bound).toHaveLength(68);
  home.end();
}, 120_000);

test("a month with IVPN: a new key every week, and a session that is withdrawn", async () => {
  const ivpns = new FakeIvpn();
  site = ivpns;
  const home = new Home(ivpn, send);
  await home.logIn(ID, "");
  const keys = new Set<string | null>();
  const notes: string[] = [];
  for (let day = 0; day < 30; day++) {
    home.now += DAY_MS;
    if (day % 7 === 6) keys.add((await home.accounts.rotateKey(null)).public_key);
    if (day === 15) isSlow = true;
    if (day === 22) ivpns.sessions.clear();
    const { warnings, paid_until } = await home.accounts.show(null);
    expect(paid_until === null).toBe(warnings.length > 0);
    notes.push(...warnings.map((warning) => `${day} ${warning.replace(/:\d+ /, " ")}`));
    isSlow = false;
    if (day !== 23) continue;
    await home.accounts.logOut(null, false);
    await home.logIn(ID, "");
  }
  expect(keys.size).toBe(4);
  expect(notes).toEqual([
    "15 incomplete: the request to api.ivpn.net failed: no answer in time",
    "22 the registration was removed from the account; log out, then log in again",
    "23 the registration was removed from the account; log out, then log in again",
  ]);
  expect([...ivpns.sessions.values()].map(({ key }) => key)).toEqual([
    (await home.accounts.show(null)).public_key ?? "",
  ]);
  home.end();
}, 120_000);

test("NordVPN's key is read after an answer that came too late", async () => {
  site = new FakeNord();
  const home = new Home(nordvpn, send);
  isSlow = true;
  expect(await failure(home.logIn(TOKEN))).toContain("failed: no answer in time");
  isSlow = false;
  expect((await home.logIn(TOKEN)).device).toBe("NordVPN key");
  home.end();
}, 180_000);

function portOfServer(server?: Server): number {
  return (server?.address() as AddressInfo | undefined)?.port ?? 0;
}
