import { afterEach, beforeEach, expect } from "bun:test";
import { version } from "../../package.json";
import { settingsFrom } from "../../src/base/settings.ts";
import { Checkup } from "../../src/checks/checkup.ts";
import type { Check } from "../../src/checks/schema.ts";
import { slow } from "../fast.ts";
import { Home } from "../http/home.ts";
import { BODY } from "../servers/example.ts";

const { test } = slow;

const JUNE = Date.UTC(2026, 5, 1);
const RESOLVER = "10.64.0.1";

let home: Home;
let stopping: AbortController;
beforeEach(async () => {
  home = await Home.start();
  stopping = new AbortController();
  void home.parts.bounds.watch(stopping.signal);
  home.host.setClock(JUNE);
  home.host.links.get("up0")?.addresses.push("198.51.100.2/24");
  home.host.files.set("/etc/resolv.conf", "nameserver 198.51.100.1\n");
  home.host.files.set("/proc/sys/net/ipv4/ip_forward", "1\n");
});
afterEach(() => {
  stopping.abort();
  return home.stop();
});

async function checks(): Promise<Check[]> {
  // Results are kept for five seconds.
  await home.pass(6_000);
  return (await home.parts.checkup.results()).checks;
}

async function found(id: string): Promise<Omit<Check, "id" | "title"> | undefined> {
  const check = (await checks()).find((each) => each.id === id);
  if (check === undefined) return undefined;
  const { id: _, title: __, ...finding } = check;
  return finding;
}

async function notOk(): Promise<Record<string, string>> {
  const all = await checks();
  return Object.fromEntries(
    all
      .filter(({ result }) => result !== "ok")
      .map(({ id, result, found: what }) => [id, `${result}: ${what}`]),
  );
}

test("a gateway without a tunnel has one warning, and each check says what was found", async () => {
  const shown = (await checks()).map(({ id, title, result, found: what }) => [id, title, result, what]);
  expect(shown.filter(([id]) => id !== "disk")).toEqual([
    ["version", "Version", "ok", version],
    [
      "firewall",
      "Kill switch: firewall",
      "ok",
      "its rules are in the kernel: what they do not accept is refused",
    ],
    [
      "routing",
      "Kill switch: routing",
      "ok",
      "its rules are in the kernel: nothing but tunnels and the LAN can be reached",
    ],
    ["other_rules", "Other programs' routing rules", "ok", "no other program's routing rule comes first"],
    ["direct", "Direct devices", "ok", "no device leaves outside the tunnel"],
    ["last_change", "Kill switch: last change", "ok", "the kernel took the last change"],
    ["other_firewalls", "Other firewalls", "ok", "none drops what the LAN sends"],
    ["forwarding", "Forwarding", "ok", "on: the devices of the LAN are served"],
    ["clock", "Clock", "ok", "2026-06-01 00:00 UTC"],
    ["uplink", "Uplink", "ok", "up0 has 198.51.100.2"],
    ["lan", "LAN", "ok", "lan0 (192.168.7.0/24, fe80::/10)"],
    ["other_routers", "Other routers on the LAN", "ok", "none were heard"],
    ["resolver", "Resolver for server names", "ok", "198.51.100.1"],
    ["tunnel:main", "Main tunnel", "warning", "not connected: nothing leaves by it"],
    ["ipv6", "IPv6", "ok", "on; filtered like IPv4"],
    ["connections", "Connections", "ok", "100 of 262144 entries of the connection table are in use"],
    ["database", "Database", "ok", "can be read and is not damaged"],
    ["memory", "Memory", "ok", "not known"],
  ]);
});

test("each part of the kill switch belongs to one check", async () => {
  const { parts } = await home.parts.tunnels.protection.inspection();
  const broken = parts.map((part) => ({ ...part, holds: false, found: part.name }));
  const { forwardingFinding, lastChangeFinding, layerFinding, otherRulesFinding } = await import(
    "../../src/checks/killswitch.ts"
  );
  const SERVICE = { wanted: true, runs: true };
  // That there are direct devices breaks nothing.
  for (const part of broken.filter(({ name }) => name !== "direct devices")) {
    const inspection = { stands: false, firewall: false, routing: false, direct: 0, parts: [part] };
    const faults = [
      layerFinding("firewall", inspection, SERVICE),
      layerFinding("routing", inspection, SERVICE),
      otherRulesFinding(inspection),
      lastChangeFinding(inspection),
      forwardingFinding(inspection),
    ].filter(({ result }) => result === "fault");
    expect({ part: part.name, faults: faults.length }).toEqual({ part: part.name, faults: 1 });
  }
});

test("devices that leave outside the tunnel are a warning that says how to end it", async () => {
  const { directFinding } = await import("../../src/checks/killswitch.ts");
  const inspection = { stands: true, firewall: true, routing: true, parts: [] };
  expect(directFinding({ ...inspection, direct: 0 }).result).toBe("ok");
  expect(directFinding({ ...inspection, direct: 0, destinations: true })).toMatchObject({
    result: "warning",
    found: "traffic to some destinations leaves outside the tunnel, as allowed on the gateway",
    advice: "See which: portcullis destinations; to end it: sudo portcullis direct off",
  });
  expect(directFinding({ ...inspection, direct: 2 })).toMatchObject({
    result: "warning",
    found: "2 devices leave outside the tunnel, as allowed on the gateway",
    advice: "See which: sudo portcullis direct; to end it: sudo portcullis direct off",
  });
});

test("a kill switch that another program has removed, bypassed or altered is a fault", async () => {
  home.host.removeTable();
  home.host.changeRule("add", "-4", "priority 5 lookup main");
  home.host.changeRule("del", "-4", "priority 90 unreachable");
  home.host.files.set("/proc/sys/net/ipv4/ip_forward", "0\n");
  const faults = await notOk();
  expect(faults).toMatchObject({
    firewall: "fault: firewall table: is missing",
    routing: "fault: routing rules, IPv4: 1 of the rules 10 to 99 are missing or altered",
    other_rules:
      "fault: another program's rule comes before the kill switch's: 5 lookup main; only the firewall blocks",
    forwarding: "fault: off: the devices of the LAN are not served",
  });
});

test("what follows from another program's rule names it, and gives no advice that would mislead", async () => {
  await connectWithDns();
  home.host.changeRule("add", "-4", "priority 5 lookup main");
  expect(await found("other_rules")).toMatchObject({
    result: "fault",
    found: "another program's rule comes before the kill switch's: 5 lookup main; only the firewall blocks",
    advice:
      "Find the program that adds the rule and turn it off, then remove the rule: sudo ip rule del priority 5",
  });
  const effect = { result: "fault", advice: null, because_of: "other_rules" } as const;
  expect(await found("tunnel:main")).toMatchObject(effect);
  expect(await found("dns")).toMatchObject(effect);
  home.host.changeRule("del", "-4", "priority 5 lookup main");
  const cause = await found("tunnel:main");
  expect(cause).not.toHaveProperty("because_of");
  expect(cause?.advice).toContain("Try another server");
  expect(await found("dns")).toMatchObject({ advice: null, because_of: "tunnel:main" });
});

test("a kill switch that the operator has turned off is a fault, and nothing is sent to measure the tunnel", async () => {
  home.host.resolvers.set(RESOLVER, 1500);
  await home.connect();
  await home.parts.operatorSwitch.turn(false);
  const events: string[] = [];
  home.host.onEvent = (event) => events.push(event);
  const off = {
    result: "fault",
    found: "turned off on the gateway: traffic may leave outside the tunnel",
    advice: "Turn it on: sudo portcullis killswitch on",
  } as const;
  expect(await found("firewall")).toMatchObject(off);
  expect(await found("routing")).toMatchObject(off);
  expect(await found("dns")).toMatchObject({
    result: "warning",
    found: "not measured while the kill switch is off: queries could leave outside the tunnel",
    advice: "Turn it on: sudo portcullis killswitch on",
  });
  expect(events.filter((event) => event.startsWith("probe"))).toEqual([]);
});

test("a change that the kernel has refused is a fault until it takes it", async () => {
  home.host.fails = () => (home.host.commands.at(-1)?.startsWith("nft -e") ? "before" : null);
  await home.connect().catch(() => {});
  expect(await found("last_change")).toMatchObject({
    result: "fault",
    found: "the last change failed: nft -e -s -n -f -: made to fail",
    advice:
      "The service keeps trying. If this stays: portcullis logs, then sudo systemctl restart portcullis",
  });
});

test("another firewall that drops what the LAN sends is a fault; rules that nft does not show are a warning", async () => {
  home.host.setOtherTable(
    "ip filter",
    "table ip filter {\n  chain FORWARD {\n    type filter hook forward priority filter; policy drop;\n  }\n}\n",
  );
  expect(await found("other_firewalls")).toMatchObject({
    result: "fault",
    found: "another firewall drops what the LAN sends into the tunnel: ip filter FORWARD",
    advice: "Let it through: iptables -I FORWARD -o wg+ -j ACCEPT; iptables -I FORWARD -i wg+ -j ACCEPT",
  });
  home.host.setOtherTable("ip filter", null);
  home.host.files.set("/proc/net/ip_tables_names", "nat\nfilter\n");
  expect(await found("other_firewalls")).toMatchObject({
    result: "warning",
    found: "iptables-legacy has rules that nft does not show",
    advice: "Check whether they drop what the LAN sends: sudo iptables-legacy -S FORWARD",
  });
});

test("a device that leaves outside the tunnel is counted as the kernel has it", async () => {
  await home.parts.devices.setDirect(true);
  await home.parts.devices.assign("02:00:00:00:00:20", { exit: "direct" });
  expect(await found("direct")).toMatchObject({
    result: "warning",
    found: "1 device leaves outside the tunnel, as allowed on the gateway",
    advice: "See which: sudo portcullis direct; to end it: sudo portcullis direct off",
  });
});

test("a clock behind the time that was saved is a fault, and a small correction is none", async () => {
  const now = home.host.now();
  home.parts.savedState.saveClock(now + 30_000, 0);
  expect((await found("clock"))?.result).toBe("ok");
  home.parts.savedState.saveClock(now + 3_600_000, 0);
  expect((await found("clock"))?.found).toStartWith(
    "2026-06-01 00:00 UTC, but this machine has already seen ",
  );
});

/** Connects to a server that has a resolver in its tunnel. */
async function connectWithDns(): Promise<void> {
  home.parts.catalogue.addCustom({ ...BODY, dns: RESOLVER });
  home.parts.catalogue.use("custom");
  await home.connect(BODY.name);
}

test("a tunnel that carries data has checks of its DNS and of its packets", async () => {
  home.host.resolvers.set(RESOLVER, 1500);
  await connectWithDns();
  expect(await notOk()).toEqual({});
  expect(await found("dns")).toMatchObject({
    result: "ok",
    found: "the tunnel's resolver 10.64.0.1 answers",
    advice: null,
  });
  expect((await found("mtu"))?.found).toBe("packets of 1420 bytes, the longest, pass");
  expect((await found("tunnel:main"))?.found).toStartWith(`connected to ${BODY.name}; last handshake `);
});

test("a tunnel that shakes hands and answers nothing is a fault", async () => {
  await connectWithDns();
  const faults = await notOk();
  expect(Object.keys(faults)).toEqual(["tunnel:main", "dns"]);
  expect(faults["tunnel:main"]).toMatch(
    /^fault: .* answered the handshake \d+ s ago, but no data came back$/,
  );
  expect(faults.dns).toBe("fault: the tunnel's resolver 10.64.0.1 does not answer");
});

test("a silent server, and a clock that is behind, are told apart", async () => {
  home.host.silent.add("192.0.2.1:51820");
  // The dialer gives up after ten seconds.
  home.host.patient = false;
  await home.parts.connects.connect({ server: "se-1" }).catch(() => {});
  home.host.patient = true;
  expect((await notOk())["tunnel:main"]).toBe(
    "fault: se-1 did not answer the WireGuard handshake within 10 s: is it up, and are the keys right? (no other server has accepted the key lately)",
  );
  home.parts.savedState.saveHandshake(home.host.now() + 86_400_000);
  expect(await found("tunnel:main")).toMatchObject({ advice: "The clock is behind: set it first." });
  expect((await found("clock"))?.result).toBe("fault");
});

test("a tunnel without a resolver is not judged by data that was never sent", async () => {
  await home.connect();
  expect(await notOk()).toEqual({
    dns: "warning: the tunnel has no resolver, so queries that are sent to the gateway are not answered",
  });
});

test("each tunnel has a check", async () => {
  await home.parts.tunnels.opened("tv");
  expect(await found("tunnel:tv")).toMatchObject({
    result: "warning",
    found: "not connected: nothing leaves by it",
    advice: "Connect it: portcullis tunnel tv connect, with a server, a country or a city.",
  });
});

test("however many ask within five seconds, there is one run", async () => {
  await checks();
  const before = home.host.commands.length;
  await home.pass(6_000);
  const [first, ...others] = await Promise.all([1, 2, 3].map(() => home.parts.checkup.results()));
  const once = home.host.commands.length - before;
  expect(others).toEqual([first, first] as typeof others);
  expect(await home.parts.checkup.results()).toBe(first as NonNullable<typeof first>);
  expect(home.host.commands.length - before).toBe(once);
  await home.pass(6_000);
  expect(await home.parts.checkup.results()).not.toBe(first as NonNullable<typeof first>);
});

test("a tunnel that has just been connected is not shown as it was before", async () => {
  expect(await found("tunnel:main")).toMatchObject({ result: "warning" });
  await home.connect();
  const { checks: after } = await home.parts.checkup.results();
  expect(after.find(({ id }) => id === "tunnel:main")).not.toMatchObject({ result: "warning" });
});

test("a run that takes long is joined, not repeated", async () => {
  const { begun, release } = home.hold("nft -j list chains");
  const first = home.parts.checkup.results();
  await begun;
  const before = home.host.commands.length;
  await home.pass(6_000);
  const second = home.parts.checkup.results();
  release();
  expect(await second).toBe(await first);
  expect(home.host.commands.slice(before).filter((command) => command === "nft -j list chains")).toEqual([]);
});

test("who asks after a tunnel has changed finds it changed, also while a run is under way", async () => {
  const isConnected = ({ checks: shown }: { checks: readonly Check[] }) =>
    shown.find(({ id }) => id === "tunnel:main")?.result !== "warning";
  const held = home.hold("nft -j list chains");
  const before = home.parts.checkup.results();
  await held.begun;
  await home.connect();
  const after = [home.parts.checkup.results(), home.parts.checkup.results()];
  held.release();
  // The run that they wait for begins when the first has ended.
  const later = home.hold("nft -j list chains");
  expect(isConnected(await before)).toBe(false);
  await later.begun;
  await home.parts.controller.disconnect();
  const last = home.parts.checkup.results();
  later.release();
  const [one, two] = await Promise.all(after);
  expect(one).toBe(two as NonNullable<typeof two>);
  expect(isConnected(await last)).toBe(false);
  expect(await home.parts.checkup.results()).toBe(await last);
});

/** Checks of the same machine. */
function checkup(tunnels: "all" | null, options: { deadlineMs?: number } = {}): Checkup {
  const { parts, host } = home;
  const settings = settingsFrom({ interface: "wg", stateDir: "/nowhere" });
  return new Checkup({ ...parts, host, settings, tunnels: tunnels && parts.tunnels, ...options });
}

test("a part of the service that has failed is a fault as long as it waits to be run again", async () => {
  const parts = async () => (await checkup("all").results()).checks.find(({ id }) => id === "parts");
  expect(await parts()).toBeUndefined();
  home.parts.failing.set("MQTT", "refused");
  expect(await parts()).toMatchObject({ result: "fault", found: "some have failed: MQTT: refused" });
  home.parts.failing.delete("MQTT");
});

test("a check that takes too long or fails is a fault, and holds up no other", async () => {
  const { release } = home.hold("nft -j list chains");
  home.host.fails = () => (home.host.commands.at(-1) === "ip -j -s neigh show" ? "before" : null);
  const { checks: all } = await checkup("all", { deadlineMs: 3_000 }).results();
  release();
  const advice = "Check again. If this stays: portcullis logs";
  const faults = all.filter(({ id, result }) => result === "fault" && id !== "uplink");
  expect(faults).toMatchObject([
    {
      id: "other_firewalls",
      title: "Other firewalls",
      result: "fault",
      found: "could not be checked: it took longer than 3 s",
      advice,
    },
    {
      id: "other_routers",
      title: "Other routers on the LAN",
      result: "fault",
      found: "could not be checked: ip -j -s neigh show: made to fail",
      advice,
    },
  ]);
});

test("without a service the machine is checked all the same", async () => {
  home.host.changeRule("del", "-4", "priority 90 unreachable");
  const { checks: all } = await checkup(null).results();
  const bad = all.filter(({ result }) => result !== "ok").map(({ id, found: what }) => [id, what]);
  expect(bad).toEqual([
    ["service", "it is not running; the kill switch is as the service left it"],
    ["routing", "routing rules, IPv4: 1 of the rules 10 to 99 are missing or altered"],
    ["disk", "the free space is not known"],
  ]);
  expect(all.find(({ id }) => id === "routing")?.advice).toBe(
    "Start the service: sudo systemctl start portcullis",
  );
  expect(all.map(({ id }) => id)).toContain("firewall");
  expect(all.map(({ id }) => id)).not.toContain("last_change");
  expect(all.map(({ id }) => id)).not.toContain("tunnel:main");
});

test("without a service, what the LAN has of a tunnel's prefix is told, and is no fault of the routing", async () => {
  home.parts.catalogue.addCustom({ ...BODY, address: "10.64.0.2/32,fd00:64::2/128" });
  home.parts.catalogue.use("custom");
  await home.connect(BODY.name);
  home.host.links.get("lan0")?.addresses.push("fd00:64::5054:ff:fe12:3456/64");
  await home.parts.tunnels.machine.checkNetwork();
  const { checks: all } = await checkup(null).results();
  const shown = all.filter(({ id }) => id === "routing" || id === "lan");
  expect(shown.map(({ id, result, found: what }) => [id, result, what])).toEqual([
    ["routing", "ok", "its rules are in the kernel: nothing but tunnels and the LAN can be reached"],
    [
      "lan",
      "warning",
      "lan0 (192.168.7.0/24, fe80::/10); fd00:64::/64 does not count as LAN, because it covers the address of a tunnel",
    ],
  ]);
});

test("GET /api/checks answers the same over HTTP, and counts as a request like any other", async () => {
  const { status, json, headers } = await home.send("GET", "/api/checks");
  expect({ status, json }).toEqual({ status: 200, json: await home.parts.checkup.results() });
  expect(headers.get("X-RateLimit-Limit")).toBe("10");
});

test("a forwarded port that is closed is a warning, and so is an interface for changes without any token", async () => {
  expect([await found("forwards"), await found("access")]).toEqual([undefined, undefined]);
  await home.stop();
  home = await Home.start({}, {}, "write");
  const id = { device: "02:00:00:00:00:20", protocol: "tcp", port: 6881 };
  await home.parts.forwards.put(id, { external: 51413 });
  expect((await found("forwards"))?.result).toBe("warning");
  expect((await found("access"))?.result).toBe("warning");
  await home.parts.tokens.add("phone", false);
  expect((await found("access"))?.result).toBe("ok");
  await home.parts.forwards.remove(id);
  expect(await found("forwards")).toBeUndefined();
});
