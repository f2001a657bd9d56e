import { expect, test } from "bun:test";
import type { PolicyPart } from "../../src/killswitch/policy.ts";
import { RESULT } from "../../src/port-mapping/nat-pmp.ts";
import { RouterPort } from "../../src/port-mapping/router-port.ts";
import type { RouterRequest } from "../../src/port-mapping/router-protocol.ts";
import type { HttpsAnswer, PinnedRequest } from "../../src/system/host.ts";
import { ip } from "../fake/address.ts";
import { Datagrams } from "../fake/datagrams.ts";
import { slow } from "../fast.ts";
import { ProviderNatPmp } from "./provider.ts";

const REQUEST: RouterRequest = {
  ...{ router: ip("192.168.8.1"), link: "up0", own: ip("192.168.8.2") },
  ...{ port: 51_820, external: 51_820 },
};
const ADDRESS = ip("203.0.113.7");
const LOCATION = "HTTP/1.1 200 OK\r\nLOCATION: http://192.168.8.1:5000/d.xml\r\n\r\n";
const DESCRIPTION =
  "<service><serviceType>urn:schemas-upnp-org:service:WANIPConnection:1</serviceType><controlURL>/c</controlURL></service>";

/** A router that speaks NAT-PMP, or UPnP, or neither; and a clock that moves only as the test says. */
function world() {
  const datagrams = new Datagrams();
  const state = {
    now: 0,
    speaks: "nat-pmp" as "nat-pmp" | "upnp" | "nothing",
    parts: [] as (PolicyPart | null)[],
    actions: [] as string[],
    /** UPnP's answers to AddPortMapping, in order; the last one stays. */
    errors: [null] as (number | null)[],
    /** The list of UPnP's mappings, as the router tells it. */
    entries: [] as string[],
    tellsEntries: true,
    /** Whether nothing takes requests where the service was. */
    isElsewhere: false,
    lost: 0,
  };
  const nat = new ProviderNatPmp(() => state.now / 1000, ADDRESS);
  nat.longest = 600;
  datagrams.onSent = (bytes, { peer }, to) => {
    const isSearch = new TextDecoder().decode(bytes).startsWith("M-SEARCH");
    if (state.speaks === "upnp" && isSearch && to === REQUEST.router)
      return new TextEncoder().encode(LOCATION);
    return state.speaks === "nat-pmp" && peer?.port === 5351 ? nat.answer(bytes) : null;
  };
  const https = async ({ url, headers, body = "" }: PinnedRequest): Promise<HttpsAnswer> => {
    const action = /#(\w+)"/.exec(headers.SOAPAction ?? "")?.[1] ?? new URL(url).pathname;
    const [port, lease] = ["NewExternalPort", "NewLeaseDuration"].map(
      (name) => new RegExp(`<${name}>(\\d+)<`).exec(body)?.[1] ?? "",
    );
    state.actions.push([action, port, lease].filter((each) => each !== "").join(" "));
    if (state.isElsewhere && action !== "/d.xml")
      return { status: 404, headers: {}, body: "<html>Not Found</html>" };
    const [, index] = /<NewPortMappingIndex>(\d+)</.exec(body) ?? [];
    if (index !== undefined) {
      if (!state.tellsEntries) throw new Error("no answer");
      const entry = state.entries[Number(index)];
      const text = entry ?? "<errorCode>713</errorCode>";
      return { status: entry === undefined ? 500 : 200, headers: {}, body: text };
    }
    const error = action === "AddPortMapping" ? (state.errors[0] ?? null) : null;
    if (action === "AddPortMapping" && state.errors.length > 1) state.errors.shift();
    const told =
      action === "/d.xml" ? DESCRIPTION : `<NewExternalIPAddress>${ADDRESS}</NewExternalIPAddress>`;
    const text = error === null ? told : `<errorCode>${error}</errorCode>`;
    return { status: error === null ? 200 : 500, headers: {}, body: text };
  };
  const host = {
    openUdp: async (place: Parameters<Datagrams["open"]>[0]) => datagrams.open(place),
    https,
    monotonic: () => state.now,
    sleep: async (ms: number) => {
      state.now += ms;
      await Bun.sleep(0);
    },
    random: Math.random,
  };
  const port = new RouterPort({
    host,
    killSwitch: { update: async (_: string, part: PolicyPart | null) => void state.parts.push(part) },
    owner: "ROUTER 4",
    nonce: () => new Uint8Array(12),
    onChange: () => {},
    onLost: () => {
      state.lost += 1;
    },
  });
  /** Waits for what is under way. */
  const settled = async () => {
    for (let quiet = 0, seen = -1; quiet < 20; quiet += 1) {
      const count = datagrams.sent.length + state.actions.length + state.parts.length + state.now;
      if (count !== seen) quiet = 0;
      seen = count;
      await Bun.sleep(1);
    }
  };
  const want = async (request: RouterRequest | null) => {
    port.want(request);
    await settled();
  };
  const later = async (ms: number) => {
    state.now += ms;
    port.look();
    await settled();
  };
  return { port, state, datagrams, nat, want, later };
}

test("nothing is sent or permitted before a port is wanted, and nothing is left once it is not", async () => {
  const { port, state, datagrams, nat, want } = world();
  port.look();
  await want(null);
  expect([state.parts, datagrams.sent]).toEqual([[], []]);
  await want(REQUEST);
  expect(port.state).toMatchObject({
    name: "open",
    mapping: { by: "nat-pmp", external: 51_820, address: ADDRESS },
  });
  expect(state.parts).toEqual([{ routers: [REQUEST.router] }]);
  // All from its own marked sockets, to the router.
  expect(new Set(datagrams.sent.map(({ place, to }) => `${place.link} ${place.mark} ${to}`))).toEqual(
    new Set(["up0 4685 192.168.8.1:5351"]),
  );
  await want(null);
  expect([port.state, nat.mappings, state.parts.at(-1), datagrams.places]).toEqual([
    ...[{ name: "off" }, [], null, []],
  ] as never);
});

test("it is renewed at half its lifetime, and stays open until that is over if the router is silent", async () => {
  const { port, state, datagrams, want, later } = world();
  await want(REQUEST);
  const sent = () => datagrams.sent.splice(0).length;
  sent();
  await later(290_000);
  expect(sent()).toBe(0);
  await later(10_000);
  expect(sent()).toBeGreaterThan(0);
  state.speaks = "nothing";
  await later(300_000);
  expect(port.state.name).toBe("open");
  await later(300_000);
  expect(port.state).toMatchObject({
    name: "closed",
    why: { error: expect.stringContaining("does not answer") },
  });
  state.speaks = "nat-pmp";
  await later(900_000);
  expect(port.state.name).toBe("open");
});

test("a router that has restarted is asked again, and what it announces too often is not", async () => {
  const { port, state, datagrams, nat, want, later } = world();
  await want(REQUEST);
  datagrams.sent.splice(0);
  nat.restart();
  nat.isObliging = false;
  const announce = () =>
    datagrams.hear("up0", "224.0.0.1", { address: REQUEST.router, port: 5351, bytes: new Uint8Array(12) });
  announce();
  await later(1_000);
  expect(datagrams.sent).toEqual([]);
  await later(30_000);
  expect(port.state).toMatchObject({ mapping: { external: 50_326 } });
  expect(state.lost).toBeGreaterThan(0);
  // Another machine on the cable.
  datagrams.sent.splice(0);
  datagrams.hear("up0", "224.0.0.1", { address: ip("192.168.8.9"), port: 5351, bytes: new Uint8Array(12) });
  await later(40_000);
  expect(datagrams.sent).toEqual([]);
});

slow.test("a router that refuses is asked less and less often", async () => {
  const { port, datagrams, nat, want, later } = world();
  nat.result = RESULT.refused;
  await want(REQUEST);
  expect(port.state).toMatchObject({
    why: {
      error: "the home router 192.168.8.1 forwards no port by itself (NAT-PMP: refused (result 2))",
      error_args: {
        what: "home_router_refused",
        router: "192.168.8.1",
        reason: "NAT-PMP: refused (result 2)",
      },
    },
  });
  let asked = 0;
  for (let minutes = 0; minutes < 120; minutes += 1) {
    datagrams.sent.splice(0);
    await later(60_000);
    if (datagrams.sent.length > 0) asked += 1;
  }
  expect(asked).toBeLessThan(20);
});

test("another wish gives the former port back", async () => {
  const { nat, want } = world();
  await want(REQUEST);
  await want({ ...REQUEST, port: 51_900, external: 51_900 });
  expect(nat.mappings.map(({ internal, external }) => [internal, external])).toEqual([[51_900, 51_900]]);
});

test("by UPnP a taken port is replaced, a lease may have no end, and each connection is permitted by itself", async () => {
  const { port, state, want } = world();
  state.speaks = "upnp";
  state.errors = [718, 725, null];
  await want(REQUEST);
  const { external } = (port.state as { mapping: { external: number } }).mapping;
  expect(external).toBeGreaterThanOrEqual(49_152);
  expect(state.actions).toEqual([
    ...["/d.xml", "AddPortMapping 51820 600", "GetSpecificPortMappingEntry 51820"],
    ...[`AddPortMapping ${external} 600`, `AddPortMapping ${external} 0`],
    ...["GetGenericPortMappingEntry", "GetExternalIPAddress"],
  ]);
  expect(state.parts.filter((part) => part?.searchPort !== undefined).length).toBe(1);
  const exemptions = state.parts.flatMap((part) => part?.exemption ?? []);
  expect(exemptions.length).toBe(state.actions.length);
  for (const { addresses, port: to } of exemptions) expect([addresses, to]).toEqual([[REQUEST.router], 5000]);
  expect(state.parts.at(-1)).toEqual({ routers: [REQUEST.router] });
  state.actions.splice(0);
  await want(null);
  expect([state.actions, state.parts.at(-1)]).toEqual([[`DeletePortMapping ${external}`], null]);
});

test("by UPnP what an earlier life of the gateway has left at other ports is removed once, and nothing of others", async () => {
  const { state, want, later } = world();
  state.speaks = "upnp";
  const entry = (external: number, client = "192.168.8.2", description = "Portcullis", protocol = "UDP") =>
    `<NewExternalPort>${external}</NewExternalPort><NewProtocol>${protocol}</NewProtocol><NewInternalClient>${client}</NewInternalClient><NewPortMappingDescription>${description}</NewPortMappingDescription>`;
  state.entries = [
    ...[entry(51_820), entry(50_001), entry(50_002, "192.168.8.9"), entry(50_003, "192.168.8.2", "game")],
    ...[entry(50_004, "192.168.8.2", "Portcullis", "TCP"), entry(51_900)],
  ];
  await want(REQUEST);
  const removed = () => state.actions.filter((action) => action.startsWith("DeletePortMapping"));
  expect(removed()).toEqual(["DeletePortMapping 50001", "DeletePortMapping 51900"]);
  expect(state.actions.filter((action) => action.startsWith("GetGeneric")).length).toBe(7);
  state.actions.splice(0);
  await later(300_000);
  expect(state.actions).toEqual(["AddPortMapping 51820 600", "GetExternalIPAddress"]);
  // A router whose list never ends.
  const endless = world();
  endless.state.speaks = "upnp";
  endless.state.entries = Array(1_000).fill(entry(51_820));
  await endless.want(REQUEST);
  expect(endless.state.actions.filter((action) => action.startsWith("GetGeneric")).length).toBe(64);
  expect(endless.port.state.name).toBe("open");
  const silent = world();
  silent.state.speaks = "upnp";
  silent.state.tellsEntries = false;
  await silent.want(REQUEST);
  expect(silent.port.state.name).toBe("open");
});

test("by UPnP a renewal asks for the port that the router has given, not for the one that is taken", async () => {
  const { port, state, want, later } = world();
  state.speaks = "upnp";
  state.errors = [718, null];
  await want(REQUEST);
  const { external } = (port.state as { mapping: { external: number } }).mapping;
  state.actions.splice(0);
  await later(300_000);
  expect(state.actions).toEqual([`AddPortMapping ${external} 600`, "GetExternalIPAddress"]);
});

test("by UPnP the service is searched for again if it is no longer where it was", async () => {
  const { port, state, want, later } = world();
  state.speaks = "upnp";
  await want(REQUEST);
  state.isElsewhere = true;
  state.actions.splice(0);
  await later(300_000);
  expect(state.actions).toEqual(["AddPortMapping 51820 600"]);
  state.isElsewhere = false;
  await later(15_000);
  expect(state.actions.slice(1)).toEqual(["/d.xml", "AddPortMapping 51820 600", "GetExternalIPAddress"]);
  expect(port.state.name).toBe("open");
  // A refusal of the service itself comes from where it is.
  state.errors = [606];
  state.actions.splice(0);
  for (const ms of [300_000, 15_000]) await later(ms);
  expect(state.actions).toEqual(["AddPortMapping 51820 600", "AddPortMapping 51820 600"]);
});

test("by UPnP a port that is always taken is not asked for without end", async () => {
  const { port, state, want } = world();
  state.speaks = "upnp";
  state.errors = [718];
  await want(REQUEST);
  expect(port.state).toMatchObject({ why: { error: expect.stringContaining("UPnP: refused (error 718)") } });
  expect(state.actions.filter((action) => action.startsWith("AddPortMapping")).length).toBe(5);
});
