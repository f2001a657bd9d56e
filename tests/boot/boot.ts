import { afterAll, beforeAll, expect, test } from "bun:test";
import { rmSync } from "node:fs";
import { INTERNET, LAN, ROUTER, VPN } from "../../src/sandbox/topology.ts";
import { createLab, type Lab } from "../lab/lab.ts";
import type { TrafficReport } from "../lab/traffic.ts";
import { until } from "../lab/until.ts";
import { DhcpServer } from "./dhcp.ts";
import { Guest } from "./guest.ts";
import { ARCHITECTURES, type Image, makeImage } from "./image.ts";
import { NETWORK_MANAGERS } from "./network-manager.ts";
import { PLACES, titleOf, variantToTest } from "./variant.ts";

/** For several boots, each of which may take as long as `Guest.until` waits. */
const PATIENCE_MS = 3 * 3_600_000;
const HOUR_MS = 3_600_000;
const API_PORT = 5000;
/** As much as an emulated machine forwards beside its other work. */
const TRAFFIC = { intervalMs: 200 };

/** How long the uplink's connection stays down. */
const DOWN_S = 5;

const variant = variantToTest();
const place = PLACES[variant.cables];
const manager = NETWORK_MANAGERS[variant.network];
const startedAt = performance.now();
const figures: [name: string, value: string][] = [];
let lab: Lab;
let image: Image;
let guest: Guest;
let dhcp: DhcpServer;
let before: string;

beforeAll(async () => {
  image = await makeImage(variant);
  lab = await createLab({ arms: variant.cables });
  guest = await Guest.create(lab, variant.cables, ARCHITECTURES[variant.arch], image);
  dhcp = new DhcpServer(lab, variant.cables, image.folder);
  await dhcp.give(place.address);
}, PATIENCE_MS);

afterAll(async () => {
  await guest?.powerOff();
  await lab?.close();
  if (image !== undefined) rmSync(image.folder, { recursive: true });
  console.log(`\n${titleOf(variant)}, ${minutes(performance.now() - startedAt)}:`);
  for (const [name, value] of figures) console.log(`  ${name.padEnd(52)} ${value}`);
}, PATIENCE_MS);

test(
  "a machine without Portcullis reaches the internet from its boot on: the sniffer sees it",
  async () => {
    const sniffer = await lab.sniff();
    guest.powerOn();
    // Then the network is complete.
    await guest.until("a name", async () => (await guest.ssh("getent ahostsv4 internet.test")).code === 0);
    before = await guest.shell(SNAPSHOT);
    const { leaks } = await sniffer.stop();
    note("packets beside a tunnel without Portcullis", leaks.length);
    expect(leaks.length).toBeGreaterThan(0);
  },
  PATIENCE_MS,
);

test(
  "a dry run shows the plan and changes nothing",
  async () => {
    const shown = await guest.shell(`/root/portcullis install ${place.flags} --dry-run`);
    expect(shown).toContain("write /etc/systemd/system/portcullis-killswitch.service (mode 644)");
    expect(shown).toContain(
      `You are logged in from ${LAN.client4}, which is on the LAN: your session is kept.`,
    );
    expect(await guest.shell(SNAPSHOT)).toBe(before);
  },
  PATIENCE_MS,
);

test(
  "after install nothing leaves, the SSH session stays, and the API answers on the LAN",
  async () => {
    const start = performance.now();
    console.log(await guest.shell(`/root/portcullis install ${place.flags} --yes`));
    note("install", seconds(performance.now() - start));
    const sniffer = await lab.sniff();
    await healthy();
    await Bun.sleep(3_000);
    expect(await clean(sniffer)).toEqual([]);
    expect(await guest.shell("portcullis killswitch status")).toContain("The kill switch is in place");
    note("resident memory", await savedState());
  },
  PATIENCE_MS,
);

test(
  "a tunnel to a server outside comes up by the kernel's module, and the LAN reaches the internet through it",
  async () => {
    const sniffer = await lab.sniff();
    const [server] = lab.sandbox.servers;
    expect(await api("/api/custom/add", server.customBody)).toEqual({ success: true });
    expect(await api("/api/provider/custom", {})).toEqual({ success: true, provider: "custom" });
    // The gateway's ten seconds for a command are few where a machine is emulated beside other work.
    await guest.until("the tunnel", async () => {
      const answer = await api("/api/connect", { server: server.customBody.name });
      return Bun.deepEquals(answer, { success: true });
    });
    expect(await page()).toBe(VPN.vpn1.v4);
    expect(await guest.shell("ip -d link show portcullis0")).toContain("wireguard");
    expect(await guest.shell("lsmod")).toContain("wireguard");
    expect(await guest.shell(manager.stateOf("portcullis0"))).toContain("unmanaged");
    expect(await clean(sniffer)).toEqual([]);
  },
  PATIENCE_MS,
);

test(
  "SIGKILL leaks nothing, and the service takes the tunnel over",
  async () => {
    const { leaks, web, flow } = await underTraffic(async () => {
      const [port, old] = [await listenPort(), await mainPid()];
      await guest.shell("systemctl kill -s KILL portcullis");
      await guest.until("another process", async () => (await mainPid()) !== old);
      await healthy();
      expect(await listenPort()).toBe(port);
    });
    expect(leaks).toEqual([]);
    expect(Object.keys(web?.seenAs ?? {})).toEqual([VPN.vpn1.v4]);
    note("longest gap in a TCP flow over SIGKILL", `${flow?.longestGapMs} ms`);
  },
  PATIENCE_MS,
);

test(
  "install again upgrades in place: the tunnel and the flows through it stay",
  async () => {
    const { leaks, web, flow } = await underTraffic(async () => {
      const [port, old] = [await listenPort(), await mainPid()];
      await guest.shell("echo >>/root/portcullis && /root/portcullis install --log-level debug --yes");
      await healthy();
      expect(await mainPid()).not.toBe(old);
      expect(await listenPort()).toBe(port);
      expect(await guest.shell("cmp /root/portcullis /usr/local/bin/portcullis")).toBe("");
    });
    expect(leaks).toEqual([]);
    expect(Object.keys(web?.seenAs ?? {})).toEqual([VPN.vpn1.v4]);
    expect(flow?.refused).toBe(0);
    note("longest gap in a TCP flow over an upgrade", `${flow?.longestGapMs} ms`);
  },
  PATIENCE_MS,
);

test(
  "a reboot leaks nothing: the kill switch stands before the network, and the tunnel comes back",
  async () => {
    const sniffer = await lab.sniff();
    await guest.ssh("systemctl reboot");
    await guest.ended();
    await bootToTunnel("reboot");
    expect(await clean(sniffer)).toEqual([]);
    const [switched, networking] = [
      await reachedAt("portcullis-killswitch", "ActiveEnter"),
      await reachedAt(manager.units[0], "InactiveExit"),
    ];
    expect(switched).toBeLessThan(networking);
    note("power-on to kill switch", seconds(switched));
    note("power-on to the first of the network", seconds(networking));
    note("power-on to the service's readiness", seconds(await reachedAt("portcullis", "ActiveEnter")));
    note("of these, power-on to the kernel's start", seconds(await kernelStart()));
  },
  PATIENCE_MS,
);

test(
  "power that goes and comes back leaks nothing",
  async () => {
    const { leaks, web } = await underTraffic(async () => {
      await Bun.sleep(1_000);
      await guest.powerOff();
      await bootToTunnel("power cut");
    });
    expect(leaks).toEqual([]);
    expect(Object.keys(web?.seenAs ?? {})).toEqual([VPN.vpn1.v4]);
  },
  PATIENCE_MS,
);

test.each([
  ["an hour", HOUR_MS],
  ["400 days", 400 * 24 * HOUR_MS],
])(
  "power that comes back with a clock that is %s behind: the tunnel comes up by itself, and nothing leaks",
  async (behind, ms) => {
    const { leaks } = await underTraffic(async () => {
      await guest.powerOff();
      await bootToTunnel(`power cut, clock ${behind} behind`, Date.now() - ms);
    });
    expect(leaks).toEqual([]);
    expect(await guest.shell("journalctl -b -u portcullis-clock --no-pager")).toContain(
      "The clock was behind and is moved",
    );
    const clock = 1_000 * Number(await guest.shell("date +%s"));
    expect(Math.abs(clock - Date.now())).toBeLessThan(HOUR_MS / 2);
  },
  PATIENCE_MS,
);

test(
  "names are looked up through the tunnel, on the gateway and for the LAN",
  async () => {
    const sniffer = await lab.sniff();
    const look = ["getent", "ahostsv4", "internet.test"];
    const finds = async () => (await guest.ssh(look.join(" "))).stdout.includes(INTERNET.host4);
    // systemd-resolved gives up a query after 20 s, which a slow machine may need for the first.
    await guest.until("an address for a name", finds);
    expect((await lab.exec(lab.namespaces.client, look)).stdout).toContain(INTERNET.host4);
    expect(await clean(sniffer)).toEqual([]);
  },
  PATIENCE_MS,
);

test(
  "the lease is renewed twice, the tunnel stays, and nothing leaks",
  async () => {
    const [port, discoveries, renewals] = [
      await listenPort(),
      dhcp.count("DHCPDISCOVER(lan0)"),
      dhcp.count("DHCPACK(lan0)"),
    ];
    const { leaks, web } = await underTraffic(() =>
      guest.until("a renewed lease", async () => dhcp.count("DHCPACK(lan0)") >= renewals + 2),
    );
    expect(leaks).toEqual([]);
    expect(Object.keys(web?.seenAs ?? {})).toEqual([VPN.vpn1.v4]);
    expect(dhcp.count("DHCPDISCOVER(lan0)")).toBe(discoveries);
    expect(await listenPort()).toBe(port);
  },
  PATIENCE_MS,
);

test.each([
  ["another address from DHCP", place.otherAddress],
  ["the former address again", place.address],
])(
  "%s: the tunnel works from it, and nothing leaks",
  async (name, address) => {
    const { leaks } = await underTraffic(async () => {
      const given = performance.now();
      await dhcp.give(address);
      await guest.until(name, async () => dhcp.count(`DHCPACK(lan0) ${address}`) > 0);
      await follow(address);
      await guest.until("no other address", async () => Bun.deepEquals(await addresses(), [`${address}/24`]));
      await tunnelCarries();
      note(`${name} to the internet for the LAN`, seconds(performance.now() - given));
    });
    expect(leaks).toEqual([]);
  },
  PATIENCE_MS,
);

test.each([
  ["the network service restarts", `systemctl restart ${manager.units.join(" ")}`],
  [
    "the uplink's connection goes down and comes back",
    `${manager.down("eth0")}; sleep ${DOWN_S}; ${manager.up("eth0")}`,
  ],
])(
  "%s: nothing leaks, and the tunnel comes back",
  async (name, command) => {
    const { leaks, web } = await underTraffic(async () => {
      // Not in this session, which may be on that cable.
      const unit = `boot-test-${name.replaceAll(/\W/g, "-")}`;
      const begun = performance.now();
      await guest.shell(`systemd-run -q -r --unit=${unit} -- sh -exc '${command}'`);
      const state = async () => (await guest.ssh(`systemctl show -P SubState ${unit}`)).stdout.trim();
      await guest.until(name, async () => ["exited", "failed"].includes(await state()));
      if ((await state()) === "failed")
        throw new Error(await guest.shell(`journalctl -u ${unit} --no-pager`));
      await tunnelCarries();
      note(`${name}, to the internet for the LAN`, seconds(performance.now() - begun));
    });
    expect(leaks).toEqual([]);
    expect(Object.keys(web?.seenAs ?? {})).toEqual([VPN.vpn1.v4]);
  },
  PATIENCE_MS,
);

test(
  "a boot whose saved rules are damaged leaks nothing either, and the service saves them anew",
  async () => {
    const sniffer = await lab.sniff();
    await guest.shell(
      "echo damaged >/var/lib/portcullis/boot/firewall.nft; rm /var/lib/portcullis/boot/rules-*; sync",
    );
    await guest.powerOff();
    await bootToTunnel("damaged boot files");
    expect(await clean(sniffer)).toEqual([]);
    // They are replaced one by one, and one that is read may be gone.
    const saved = async () => (await guest.ssh("cat /var/lib/portcullis/boot/*")).stdout;
    await guest.until("the saved rules", async () =>
      (await saved()).includes("rule add priority 90 unreachable"),
    );
  },
  PATIENCE_MS,
);

test(
  "uninstall brings the machine back to what it was",
  async () => {
    console.log(await guest.shell("portcullis uninstall --yes --remove-state"));
    expect(await guest.shell(SNAPSHOT)).toBe(before);
    const sniffer = await lab.sniff();
    await Bun.sleep(3_000);
    expect((await sniffer.stop()).leaks.length).toBeGreaterThan(0);
  },
  PATIENCE_MS,
);

/** All that an installation changes, as text. */
const SNAPSHOT = [
  "ip -4 rule; ip -6 rule; ip -br link; nft list ruleset",
  "sysctl -ar '^net.ipv[46].(ip_forward|conf.(all|eth.).(forwarding|(send|accept)_redirects|arp_ignore|src_valid_mark|accept_ra))'",
  "find /etc /usr/local -type f -exec sha256sum {} + | sort -k2",
  "find /etc /usr/local -type l -o -type d | sort",
  "find /var/lib -mindepth 1 -maxdepth 1 | sort",
  "systemctl list-unit-files --no-legend 'portcullis*'; systemctl --failed --no-legend",
].join("; ");

async function loggedIn(): Promise<number> {
  return guest.until("an SSH session", async () => (await guest.ssh("true")).code === 0);
}

async function bootToTunnel(name: string, clock?: number): Promise<void> {
  guest.powerOn(clock);
  note(`power-on to the API, ${name}`, seconds(await healthy()));
  note(`power-on to the internet for the LAN, ${name}`, seconds(await tunnelCarries()));
  await loggedIn();
}

/** Returns once the LAN has a page through the tunnel; the milliseconds since power came on. */
async function tunnelCarries(): Promise<number> {
  let seenAs = "";
  const age = await guest.until("the tunnel", async () => {
    seenAs = await page();
    return seenAs !== "";
  });
  expect(seenAs).toBe(VPN.vpn1.v4);
  return age;
}

/** Of IPv4, on the card that has a lease. */
async function addresses(): Promise<string[]> {
  const { stdout } = await guest.ssh("ip -4 -br address show eth0");
  return stdout.match(/\S+\/\d+/g) ?? [];
}

/** With one cable the address that DHCP gives is the gateway's on the LAN, and a person tells the devices. */
async function follow(address: string): Promise<void> {
  if (variant.cables === 2) return;
  const { code, stderr } = await lab.exec(lab.namespaces.client, [
    ...["ip", "route", "replace", "default", "via", address],
  ]);
  if (code !== 0) throw new Error(stderr);
  guest.address = address;
}

/** What leaks while the LAN's client sends all the time; the traffic ends with the work, also where that fails. */
async function underTraffic(work: () => Promise<unknown>): Promise<TrafficReport & { leaks: string[] }> {
  const sniffer = await lab.sniff();
  const traffic = await lab.traffic(lab.namespaces.client, TRAFFIC);
  const failure = await work().then(
    () => null,
    (error: unknown) => ({ error }),
  );
  const report = await traffic.stop();
  if (failure !== null) {
    await sniffer.stop();
    throw failure.error;
  }
  return { ...report, leaks: await clean(sniffer) };
}

/** Milliseconds from power-on until systemd has taken a unit to this point. */
async function reachedAt(unit: string, moment: "ActiveEnter" | "InactiveExit"): Promise<number> {
  const us = Number(await guest.shell(`systemctl show -P ${moment}TimestampMonotonic ${unit}`));
  expect(us).toBeGreaterThan(0);
  return (await kernelStart()) + us / 1_000;
}

/** Milliseconds from power-on, by the guest's clock, as exactly as an SSH session answers. */
async function kernelStart(): Promise<number> {
  const uptime = Number(await guest.shell("cut -d' ' -f1 /proc/uptime"));
  return guest.age - uptime * 1_000;
}

/** It stays the same for as long as the tunnel does. */
function listenPort(): Promise<string> {
  return guest.shell("wg show portcullis0 listen-port");
}

function mainPid(): Promise<string> {
  return guest.shell("systemctl show -P MainPID portcullis");
}

/**
 * With one cable the home router is a host of the LAN: the gateway tells it that no DHCP client waits any more for what
 * it sent.
 */
const LATE_DHCP = new RegExp(`^192\\.168\\.77\\.\\d+ > ${ROUTER.lan[1].v4} ICMP type 3 code 3$`);

/** What leaked; the sniffer must have seen something, or it proves nothing. */
async function clean(sniffer: Awaited<ReturnType<Lab["sniff"]>>): Promise<string[]> {
  await provoke();
  // In the flow: whoever stops a sniffer misses what passes at that moment.
  const { leaks, frames, missed } = await sniffer.count();
  await sniffer.stop();
  expect(missed).toBe(0);
  expect(frames).toBeGreaterThan(0);
  return [...new Set(leaks)].filter((leak) => variant.cables === 2 || !LATE_DHCP.test(leak));
}

/** A machine that sends nothing else still answers when a neighbour looks for its address. */
async function provoke(): Promise<void> {
  const { router } = lab.namespaces;
  const neighbour = [dhcp.address, "dev", "lan0"];
  await lab.exec(router, ["ip", "neigh", "flush", "dev", "lan0"]);
  await until(async () => {
    await lab.exec(router, ["ip", "neigh", "replace", ...neighbour, "use"]);
    return (await lab.exec(router, ["ip", "neigh", "show", ...neighbour])).stdout.includes("lladdr");
  });
}

async function savedState(): Promise<string> {
  const kib = await guest.shell(
    'awk "/^VmRSS/ {print \\$2}" /proc/$(systemctl show -P MainPID portcullis)/status',
  );
  return `${Math.round(Number(kib) / 1024)} MiB`;
}

function healthy(): Promise<number> {
  return guest.until("the API", async () => (await health()) === "healthy");
}

async function health(): Promise<string> {
  const { stdout } = await fromLan(["-m", "5", `http://${guest.address}:${API_PORT}/health`]);
  return stdout;
}

/** From which address the internet sees the LAN's client; empty where it does not. */
async function page(): Promise<string> {
  return (await fromLan(["-f", "-m", "5", `http://${INTERNET.host4}/ip`])).stdout.trim();
}

async function api(path: string, body: unknown): Promise<unknown> {
  const data = ["-H", "content-type: application/json", "--data-binary", JSON.stringify(body)];
  return JSON.parse(
    (await fromLan(["-m", "60", ...data, `http://${guest.address}:${API_PORT}${path}`])).stdout,
  );
}

function fromLan(argv: string[]) {
  return lab.exec(lab.namespaces.client, ["curl", "-s", ...argv]);
}

function note(name: string, value: unknown): void {
  figures.push([name, String(value)]);
  console.log(`${name}: ${value}`);
}

function seconds(ms: number): string {
  return `${(ms / 1_000).toFixed(1)} s`;
}

function minutes(ms: number): string {
  return `${(ms / 60_000).toFixed(1)} min`;
}
