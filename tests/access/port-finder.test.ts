import { expect, test } from "bun:test";
import { version } from "../../package.json";
import { PortFinder } from "../../src/access/port-finder.ts";
import type { ClaimStatus } from "../../src/access/schema.ts";
import { TOKENS } from "../../src/access/tokens.ts";
import { NO_NETWORK, readNetwork } from "../../src/network/host-network.ts";
import type { PortRoles } from "../../src/network/ports.ts";
import { SETUP_NOTES, versionNote } from "../../src/system/setup.ts";
import { cidrs } from "../fake/address.ts";
import { FakeHost } from "../fake/host.ts";
import { newLink } from "../fake/link.ts";
import { OWN_MAC } from "../fake/listening.ts";
import { offerPacket } from "../network/offer.ts";

const MINUTE_MS = 60_000;
const LANS = [{ interface: "eth0", prefixes: cidrs("192.168.7.0/24") }];

/** A flashed gateway, at whose ports there are a router (`r`), something else (`d`) or nothing (`-`). */
function flashed(plugs: string, present: PortRoles = { uplink: "eth0", lans: ["eth0"] }) {
  const host = new FakeHost();
  host.patient = true;
  host.files.set(SETUP_NOTES.sysctlsBefore, "");
  host.files.set(SETUP_NOTES.version, versionNote(version));
  let [now, isOneNetwork] = [plugs, false];
  const plug = (text: string) => {
    now = text;
    for (const [number, what] of [...text].entries())
      host.links.set(`eth${number}`, newLink({ up: true, carrier: what !== "-" }));
  };
  plug(plugs);
  host.listening.onSent = (link, packet) => {
    if (isOneNetwork)
      for (const other of host.links.keys())
        if (other !== link) host.listening.hear(other, "dhcp requests", { from: OWN_MAC, packet });
    if (now[Number(link.slice(3))] !== "r") return;
    const id = Buffer.from(packet).readUInt32BE(28 + 4);
    const offer = offerPacket({ id, server: "192.168.7.254", address: "192.168.7.30", options: {} });
    host.listening.hear(link, "dhcp replies", { from: "02:00:00:00:00:fe", packet: offer });
  };
  const claim: { state: ClaimStatus["claim"] } = { state: "open" };
  const texts = new Map<string, string>();
  const store = { read: (key: string) => texts.get(key) ?? null };
  const [told, assigned]: [unknown[], PortRoles[]] = [[], []];
  const finder = new PortFinder({
    ...{ host, claim, store, settings: { uplink: present.uplink, lan: [...present.lans] } },
    alarm: (code, args) => void told.push([code, args]),
    log: { info: () => {}, warn: () => {} },
  });
  let isChanging = true;
  const restored: number[] = [];
  const root = {
    assignPorts: async (roles: PortRoles) => {
      assigned.push(roles);
      host.files.delete(SETUP_NOTES.version);
    },
    restorePorts: async () => void restored.push(host.monotonic()),
    isChanging: async () => isChanging,
  };
  const ending = new AbortController();
  let looks = 0;
  const look = async () => {
    looks += 1;
  };
  void finder.watch(root, look, ending.signal);
  return {
    ...{ host, claim, texts, told, assigned, restored, finder, plug },
    pass: (ms: number) => host.pass(ms),
    fail: () => {
      isChanging = false;
    },
    join: () => {
      isOneNetwork = true;
    },
    lans: async () =>
      (await finder.served({ ...NO_NETWORK, lans: LANS }, await readNetwork(host))).lans.length,
    looks: () => looks,
    end: () => ending.abort(),
  };
}

test("two cables: nothing is LAN until a port was silent for 40 s, then the other one is the uplink", async () => {
  const { pass, assigned, lans, end } = flashed("rd");
  expect(await lans()).toBe(0);
  await pass(35_000);
  expect([assigned, await lans()]).toEqual([[], 0]);
  await pass(25_000);
  expect([assigned, await lans()]).toEqual([[{ uplink: "eth0", lans: ["eth1"] }], 0]);
  end();
});

test("a switch that holds back the second port for 30 s: one cable, and a sentence that says so", async () => {
  const { pass, plug, assigned, told, lans, looks, end } = flashed("rd");
  expect(await lans()).toBe(0);
  await pass(28_000);
  plug("rr");
  await pass(2 * MINUTE_MS);
  expect([assigned, await lans(), looks()]).toEqual([[], 1, 1]);
  expect(told).toEqual([["ports_alike", { ports: "eth0, eth1", uplink: "eth0" }]]);
  end();
});

test("both cables at a router that has an address for one card only: one cable, because each hears the other", async () => {
  const { pass, join, assigned, told, lans, end } = flashed("rd");
  join();
  await pass(2 * MINUTE_MS);
  expect([assigned, await lans()]).toEqual([[], 1]);
  expect(told).toEqual([["ports_alike", { ports: "eth0, eth1", uplink: "eth0" }]]);
  end();
});

test.each([
  ["a third cable", (home: ReturnType<typeof flashed>) => home.plug("rdd")],
  [
    "a look that failed, as in a flood,",
    async (home: ReturnType<typeof flashed>) => {
      home.host.listening.closed.add("eth1");
      await home.pass(10_000);
      home.host.listening.closed.clear();
    },
  ],
])("%s begins the 40 s again", async (_, happens) => {
  const home = flashed("rd-");
  await home.pass(35_000);
  await happens(home);
  await home.pass(30_000);
  expect(home.assigned).toEqual([]);
  await home.pass(MINUTE_MS);
  expect(home.assigned).toEqual([{ uplink: "eth0", lans: ["eth1", "eth2"] }]);
  home.end();
});

test("where another DHCP server answers on the LAN, as when cables change places, ours makes way at the first look", async () => {
  const { host, pass, plug, assigned, end } = flashed("rd", { uplink: "eth0", lans: ["eth1"] });
  const restarts = () => host.commands.filter((each) => each.endsWith("try-restart portcullis-dhcp.service"));
  await pass(MINUTE_MS);
  expect(restarts()).toEqual([]);
  plug("dr");
  await pass(25_000);
  expect([restarts().length, assigned]).toEqual([1, []]);
  await pass(MINUTE_MS);
  expect([restarts().length, assigned]).toEqual([1, [{ uplink: "eth1", lans: ["eth0"] }]]);
  end();
});

test("one cable at the first of two ports is the LAN after one look, and a second one that comes later makes it two", async () => {
  const { pass, plug, assigned, lans, end } = flashed("r-");
  expect(await lans()).toBe(0);
  await pass(10_000);
  expect([assigned, await lans()]).toEqual([[], 1]);
  plug("rd");
  await pass(MINUTE_MS);
  expect([assigned, await lans()]).toEqual([[{ uplink: "eth0", lans: ["eth1"] }], 1]);
  end();
});

test("a router that does not answer yet changes nothing, and one that answers on the LAN's side ends the second cable", async () => {
  const two = { uplink: "eth0", lans: ["eth1"] };
  const { pass, plug, assigned, lans, end } = flashed("dd", two);
  await pass(2 * MINUTE_MS);
  expect([assigned, await lans()]).toEqual([[], 1]);
  plug("rr");
  await pass(MINUTE_MS);
  expect(assigned).toEqual([{ uplink: "eth0", lans: ["eth0"] }]);
  end();
});

test.each([
  [
    "the claim",
    ({ claim }: ReturnType<typeof flashed>) => {
      claim.state = "over";
    },
  ],
  [
    "an owner, also where the card has opened the claim again",
    ({ texts }: ReturnType<typeof flashed>) =>
      void texts.set(
        TOKENS.key,
        TOKENS.format([
          { name: "a", hash: "0".repeat(64), read_only: false, passphrase: "x", created_at: "2026-01-01" },
        ] as never),
      ),
  ],
])("after %s no port is asked, and no role changes", async (_, happens) => {
  const home = flashed("r-");
  await home.pass(10_000);
  happens(home);
  await home.pass(10_000);
  const asked = home.host.listening.sent.length;
  home.plug("dr");
  await home.pass(5 * MINUTE_MS);
  expect([home.assigned, await home.lans(), home.host.listening.sent.length]).toEqual([[], 1, asked]);
});

test("stored tokens that are damaged count as those of an owner", async () => {
  const home = flashed("dr");
  home.texts.set(TOKENS.key, "damaged");
  await home.pass(5 * MINUTE_MS);
  expect([home.assigned, await home.lans()]).toEqual([[], 1]);
});

test("nobody can claim the gateway while the roles change, or once a change has failed half-way; it is tried again", async () => {
  const { pass, assigned, finder, fail, end } = flashed("rd");
  expect(() => finder.assertQuiet()).not.toThrow();
  await pass(55_000);
  expect(assigned).toHaveLength(1);
  expect(() => finder.assertQuiet()).toThrow("another change is under way");
  fail();
  await pass(2_000);
  expect(() => finder.assertQuiet()).toThrow("another change is under way");
  await pass(2 * MINUTE_MS);
  expect(assigned.length).toBeGreaterThan(1);
  end();
});

test("after a power cut in between nobody can claim the gateway from its first look at the network on", async () => {
  const { host, pass, lans, assigned, finder, fail, end } = flashed("rd", { uplink: "eth0", lans: ["eth1"] });
  host.files.delete(SETUP_NOTES.version);
  await lans();
  expect(() => finder.assertQuiet()).toThrow("another change is under way");
  await pass(MINUTE_MS);
  expect(assigned).toEqual([{ uplink: "eth0", lans: ["eth1"] }]);
  fail();
  await pass(10_000);
  expect(() => finder.assertQuiet()).toThrow("another change is under way");
  host.files.set(SETUP_NOTES.version, versionNote(version));
  await pass(2 * MINUTE_MS);
  expect(() => finder.assertQuiet()).not.toThrow();
  expect(assigned).toHaveLength(1);
  end();
});

test("after a power cut before the settings had changed, the only cable is not the LAN either", async () => {
  const { host, lans, finder, end } = flashed("rd");
  host.files.delete(SETUP_NOTES.version);
  expect(await lans()).toBe(0);
  expect(() => finder.assertQuiet()).toThrow("another change is under way");
  end();
});

/** Its owner has given the ports other roles, and that is not done. */
function halfDone(plugs: string, present?: PortRoles) {
  const home = flashed(plugs, present);
  home.claim.state = "over";
  home.host.files.set(SETUP_NOTES.portsBefore, "{}");
  return home;
}

test("while an owner's change of the roles is half done there is no LAN; then there is one again, without a change of the cables", async () => {
  const { host, pass, lans, restored, looks } = halfDone("rd", { uplink: "eth0", lans: ["eth1"] });
  expect(await lans()).toBe(0);
  await pass(MINUTE_MS);
  expect([await lans(), restored, looks()]).toEqual([0, [], 0]);
  host.files.delete(SETUP_NOTES.portsBefore);
  await pass(1_000);
  expect([await lans(), restored, looks()]).toEqual([1, [], 1]);
});

test("one that a power cut has ended goes back, and is tried again until it has", async () => {
  const { host, pass, lans, restored, fail, looks } = halfDone("rd");
  fail();
  await pass(MINUTE_MS);
  expect([await lans(), restored.length, looks()]).toEqual([0, 2, 0]);
  host.files.delete(SETUP_NOTES.portsBefore);
  await pass(30_000);
  expect([await lans(), restored.length, looks()]).toEqual([1, 2, 1]);
});

test("one that neither comes to its end nor goes back, without a restart of the service, goes back then", async () => {
  const { host, claim, pass, lans, restored, fail, looks } = flashed("rd");
  claim.state = "over";
  await pass(MINUTE_MS);
  expect([await lans(), looks()]).toEqual([1, 0]);
  host.files.set(SETUP_NOTES.portsBefore, "{}");
  expect(await lans()).toBe(0);
  await pass(MINUTE_MS);
  expect(restored).toEqual([]);
  fail();
  await pass(MINUTE_MS);
  expect([await lans(), restored.length > 0]).toEqual([0, true]);
  host.files.delete(SETUP_NOTES.portsBefore);
  await pass(MINUTE_MS);
  expect([await lans(), looks()]).toEqual([1, 1]);
});

test("one that was cut off before the claim is made again in place of going back, also if nothing but its end was missing", async () => {
  const { host, pass, assigned, restored, finder, lans, end } = flashed("rd", {
    uplink: "eth0",
    lans: ["eth1"],
  });
  host.files.set(SETUP_NOTES.portsBefore, "{}");
  expect(await lans()).toBe(1);
  await pass(30_000);
  expect(() => finder.assertQuiet()).toThrow("another change is under way");
  await pass(30_000);
  expect([assigned, restored]).toEqual([[{ uplink: "eth0", lans: ["eth1"] }], []]);
  end();
});

test("a gateway that was set up in a terminal has nothing half done", async () => {
  const home = halfDone("rd");
  home.claim.state = "none";
  expect(await home.lans()).toBe(1);
  await home.pass(MINUTE_MS);
  expect(home.restored).toEqual([]);
});

test("a machine with one port asks nobody, and serves its LAN at once", async () => {
  const { host, pass, assigned, lans, end } = flashed("r");
  expect(await lans()).toBe(1);
  await pass(2 * MINUTE_MS);
  expect([assigned, host.listening.sent]).toEqual([[], []]);
  end();
});
