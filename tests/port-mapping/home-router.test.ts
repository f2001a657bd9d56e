import { expect, test } from "bun:test";
import { HomeRouter, LIFETIME_S } from "../../src/port-mapping/home-router.ts";
import type { RouterRequest } from "../../src/port-mapping/router-protocol.ts";
import type { PinnedRequest } from "../../src/system/host.ts";
import { ip } from "../fake/address.ts";
import { Datagrams } from "../fake/datagrams.ts";
import { ODD_ROUTERS, type Oddity, OddRouter } from "./odd-router.ts";

const REQUEST: RouterRequest = {
  ...{ router: ip("192.168.8.1"), link: "up0", own: ip("192.168.8.2") },
  ...{ port: 51_820, external: 51_820 },
};
const ADDRESS = ip("203.0.113.7");
/** Not the port that was asked. */
const ANSWERS_FROM = 49_152;

function homeWith(oddity: Oddity, asked = REQUEST) {
  const router = new OddRouter(oddity, REQUEST.router, ADDRESS, REQUEST.external);
  const datagrams = new Datagrams();
  let now = 0;
  datagrams.onSent = (bytes, { own }, to) => {
    for (const text of router.found(new TextDecoder().decode(bytes), to)) {
      const datagram = { address: asked.router, port: ANSWERS_FROM, bytes: new TextEncoder().encode(text) };
      datagrams.hear("up0", own?.address ?? "", datagram);
    }
    return null;
  };
  const urls = new Set<string>();
  const https = async ({ url, headers, body = "" }: PinnedRequest) => {
    const { origin, pathname } = new URL(url);
    urls.add(origin);
    return { headers: {}, ...router.page(pathname, headers.SOAPAction ?? "", body) };
  };
  const host = {
    ...{ https, openUdp: async (place: Parameters<Datagrams["open"]>[0]) => datagrams.open(place) },
    monotonic: () => now,
    sleep: async (ms: number) => {
      now += ms;
    },
    random: Math.random,
  };
  const home = new HomeRouter({ host, permit: async () => {}, nonce: () => new Uint8Array(12) });
  return { router, home, urls };
}

const open = (home: HomeRouter, request = REQUEST) => home.map(request, "upnp", new AbortController().signal);

test.each(Object.entries(ODD_ROUTERS))(
  "a router that %s forwards a port, renews it and gives it back",
  async (name, oddity) => {
    const { router, home, urls } = homeWith(oddity);
    const before = router.mappings.size;
    const mapping = await open(home);
    const expected = { client: REQUEST.own, internal: REQUEST.port };
    expect(mapping).toMatchObject({ by: "upnp", lifetime: LIFETIME_S });
    expect(mapping.address).toBe(oddity.keepsAddress ? null : ADDRESS);
    expect(router.mappings.get(mapping.external)).toMatchObject(expected);
    if (oddity.services?.["/2"] !== undefined)
      expect([name, router.mappings.get(mapping.external)?.service]).toEqual([name, "/2"]);
    // A renewal keeps the port.
    const again = await open(home, { ...REQUEST, external: mapping.external });
    expect(again.external).toBe(mapping.external);
    expect(router.mappings.get(again.external)).toMatchObject(expected);
    await home.unmap(REQUEST, again, new AbortController().signal);
    expect(router.mappings.size).toBe(before);
    // Whatever it names, it is asked at its own address.
    expect([...urls]).toEqual([`http://${REQUEST.router}:5000`]);
  },
);

test("a search that another machine answers finds nothing", async () => {
  const { home, urls } = homeWith({}, { ...REQUEST, router: ip("192.168.8.9") });
  expect(await open(home).catch((error: Error) => error.message)).toEndWith(
    "(it does not answer PCP, NAT-PMP, UPnP)",
  );
  expect(urls.size).toBe(0);
});
