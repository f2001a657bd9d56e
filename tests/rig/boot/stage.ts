import { expect } from "bun:test";
import { rmSync } from "node:fs";
import { INTERNET, ROUTER, VPN } from "../../../src/sandbox/topology.ts";
import { Workshop } from "../../update/made.ts";
import { Downloads } from "../peers/downloads.ts";
import { createLab, type Lab } from "../tools/lab.ts";
import type { TrafficReport } from "../tools/traffic.ts";
import { until } from "../tools/until.ts";
import { removeShelf } from "./contained.ts";
import { DhcpServer } from "./dhcp.ts";
import { flashedImage, MACHINE } from "./flashed-image.ts";
import { Guest } from "./guest.ts";
import { ARCHITECTURES, type Image, makeImage } from "./image.ts";
import { NETWORK_MANAGERS } from "./network-manager.ts";
import { makeRelease } from "./release.ts";
import { placeOf, titleOf, variantToTest } from "./variant.ts";
import { WAYS, type Way } from "./way.ts";

/** For several boots, each of which may take as long as `Guest.until` waits. */
export const PATIENCE_MS = 3 * 3_600_000;
/** As much as an emulated machine forwards beside its other work. */
const TRAFFIC = { intervalMs: 200 };

const variant = variantToTest();
const API_PORT = variant.image === null ? 5000 : 80;
export const place = placeOf(variant);
export const manager = NETWORK_MANAGERS[variant.network];
export const packaged = variant.package;
export const way: Way = WAYS[packaged ? "package" : "hand"];
const startedAt = performance.now();
const figures: [name: string, value: string][] = [];
export let image: Image;
let workshop: Workshop;
export let lab: Lab;
export let guest: Guest;
/** The home router's. */
export let dhcp: DhcpServer;

/** The server of the newer release, and the package that trusts its signature. */
export let downloads: Downloads;
export let older: string;

/** Makes the machine, which is off, and connects it. */
export async function openStage(): Promise<void> {
  lab = await createLab({ cards: variant.cables });
  const files = packaged ? await openRelease() : [];
  image = variant.image === null ? await makeImage(variant, files) : await flashedImage();
  const machine = variant.image === null ? ARCHITECTURES[variant.arch] : MACHINE;
  guest = await Guest.create(lab, variant.cables, machine, image);
  const second = variant.image !== null && variant.cables === 2 ? place.otherAddress : null;
  dhcp = new DhcpServer(lab, variant.cables, image.folder, second);
  if (place.cards.some(({ v4 }) => v4 === null)) await dhcp.give(place.address);
}

/** Serves a newer release; the files that a machine needs to update to it. */
async function openRelease(): Promise<string[]> {
  workshop = new Workshop();
  const made = makeRelease(workshop, variant.arch);
  older = made.older;
  downloads = await Downloads.start(lab, made.folder);
  return [older, downloads.certificate];
}

/** Prints what was measured. */
export async function closeStage(): Promise<void> {
  await guest?.powerOff();
  downloads?.stop();
  await lab?.close();
  workshop?.close();
  if (variant.contained && image !== undefined) await removeShelf(image.folder);
  if (image !== undefined) rmSync(image.folder, { recursive: true });
  console.log(`\n${titleOf(variant)}, ${minutes(performance.now() - startedAt)}:`);
  for (const [name, value] of figures) console.log(`  ${name.padEnd(52)} ${value}`);
}

/** What a gateway changes in the kernel, as text. */
export const NETWORK = [
  "ip -4 rule; ip -6 rule; ip -br link; nft list ruleset",
  "sysctl -ar '^net.ipv[46].(ip_forward|conf.(all|eth.).(forwarding|(send|accept)_redirects|arp_ignore|src_valid_mark|accept_ra))'",
].join("; ");

/** All that an installation changes, as text. */
export const SNAPSHOT = [
  NETWORK,
  "find /etc /usr/local -type f -exec sha256sum {} + | sort -k2",
  "find /etc /usr/local -type l -o -type d | sort",
  "find /var/lib -mindepth 1 -maxdepth 1 | sort",
  "systemctl list-unit-files --no-legend 'portcullis*'; systemctl --failed --no-legend",
].join("; ");

/** Boots the machine for the first time, until its network is complete. */
export async function bootBare(): Promise<void> {
  guest.powerOn();
  await guest.until("a name", async () => (await guest.ssh("getent ahostsv4 internet.test")).code === 0);
}

/** Makes the machine a gateway, which has the program. */
export async function arm(flags = place.flags): Promise<void> {
  const start = performance.now();
  console.log(await patiently(`${way.arm} ${flags} --yes`));
  note("installation", seconds(performance.now() - start));
}

/**
 * Runs a shell line as root, and again while a program of the gateway's takes too long, which has changed nothing: ten
 * seconds are few where a machine is emulated beside other work.
 */
export async function patiently(line: string): Promise<string> {
  let answer = "";
  await guest.until(line, async () => {
    const { code, stdout, stderr } = await guest.ssh(line);
    if (code !== 0 && !stderr.includes(" did not finish within "))
      throw new Error(`${line}: ${stdout}${stderr}`);
    answer = stdout;
    return code === 0;
  });
  return answer;
}

/** Brings the first tunnel up. */
export async function connect(): Promise<void> {
  const [server] = lab.sandbox.servers;
  expect(await api("/api/custom/add", server.customBody)).toEqual({ success: true });
  expect(await api("/api/provider/custom", {})).toEqual({ success: true, provider: "custom" });
  await connectAgain();
}

/** The same once the server is known. As in `patiently`. */
export async function connectAgain(): Promise<void> {
  const { name } = lab.sandbox.servers[0].customBody;
  await guest.until("the tunnel", async () =>
    Bun.deepEquals(await api("/api/connect", { server: name }), { success: true }),
  );
}

export async function loggedIn(): Promise<number> {
  return guest.until("an SSH session", async () => (await guest.ssh("true")).code === 0);
}

export async function bootToTunnel(name: string, clock?: number): Promise<void> {
  guest.powerOn(clock);
  note(`power-on to the API, ${name}`, seconds(await healthy()));
  note(`power-on to the internet for the LAN, ${name}`, seconds(await tunnelCarries()));
  await loggedIn();
}

/** Returns once the LAN has a page through the tunnel; the milliseconds since power came on. */
export async function tunnelCarries(): Promise<number> {
  let seenAs = "";
  const age = await guest.until("the tunnel", async () => {
    seenAs = await page();
    return seenAs !== "";
  });
  expect(seenAs).toBe(VPN.vpn1.v4);
  return age;
}

/** Of IPv4, on the card that has a lease. */
export async function addresses(): Promise<string[]> {
  const { stdout } = await guest.ssh("ip -4 -br address show eth0");
  return stdout.match(/\S+\/\d+/g) ?? [];
}

/** With one cable the address that DHCP gives is the gateway's on the LAN, and a person tells the devices. */
export async function follow(address: string): Promise<void> {
  if (variant.cables === 2) return;
  const { code, stderr } = await lab.exec(lab.namespaces.client, [
    ...["ip", "route", "replace", "default", "via", address],
  ]);
  if (code !== 0) throw new Error(stderr);
  guest.address = address;
}

/**
 * What leaks while a device of the LAN sends all the time. The traffic ends with the device's first visit after the work,
 * or once the work fails.
 */
export async function underTraffic(
  work: () => Promise<unknown>,
  device: string = lab.namespaces.client,
): Promise<TrafficReport & { leaks: string[] }> {
  const sniffer = await lab.sniff();
  const traffic = await lab.traffic(device, TRAFFIC);
  const visited = async () => (await traffic.count()).web?.answered ?? 0;
  const working = async () => {
    await work();
    // Visits are seconds apart, and a short outage would otherwise leave none.
    const before = await visited();
    await guest.until("a visit", async () => (await visited()) > before);
  };
  const failure = await working().then(
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
export async function reachedAt(unit: string, moment: "ActiveEnter" | "InactiveExit"): Promise<number> {
  const us = Number(await guest.shell(`systemctl show -P ${moment}TimestampMonotonic ${unit}`));
  expect(us).toBeGreaterThan(0);
  return (await kernelStart()) + us / 1_000;
}

/** Milliseconds from power-on, by the guest's clock, as exactly as an SSH session answers. */
export async function kernelStart(): Promise<number> {
  const uptime = Number(await guest.shell("cut -d' ' -f1 /proc/uptime"));
  return guest.age - uptime * 1_000;
}

/** It stays the same for as long as the tunnel does. */
export function listenPort(): Promise<string> {
  return guest.shell("wg show portcullis0 listen-port");
}

export function mainPid(): Promise<string> {
  return guest.shell("systemctl show -P MainPID portcullis");
}

/**
 * With one cable the home router is a host of the LAN: the gateway tells it that no DHCP client waits any more for what
 * it sent.
 */
const LATE_DHCP = new RegExp(`^192\\.168\\.77\\.\\d+ > ${ROUTER.lan[1].v4} ICMP type 3 code 3$`);
/** With one cable the LAN's is the router's, too: there a gateway tells its name, to an address that no router forwards. */
export const OWN_NAME = /^192\.168\.77\.\d+ > 224\.0\.0\.251 UDP 5353 > 5353,/;

/** What leaked; the sniffer must have seen something, or it proves nothing. */
export async function clean(
  sniffer: Awaited<ReturnType<Lab["sniff"]>>,
  uplink = dhcp.address || place.address,
): Promise<string[]> {
  await provoke(uplink);
  // In the flow: whoever stops a sniffer misses what passes at that moment.
  const { leaks, frames, missed } = await sniffer.count();
  await sniffer.stop();
  expect(missed).toBe(0);
  expect(frames).toBeGreaterThan(0);
  const isOfLan = (leak: string) => LATE_DHCP.test(leak) || OWN_NAME.test(leak);
  return [...new Set(leaks)].filter((leak) => variant.cables === 2 || !isOfLan(leak));
}

/** Returns once packets leave outside a tunnel, as those of a machine without a kill switch do. */
export async function leaks(): Promise<void> {
  const sniffer = await lab.sniff();
  await guest.until("a packet outside", async () => (await sniffer.count()).leaks.length > 0);
  await sniffer.stop();
}

/** A machine that sends nothing else still answers when a neighbour looks for its address. */
async function provoke(uplink: string): Promise<void> {
  const { router } = lab.namespaces;
  const neighbour = [uplink, "dev", "lan0"];
  await lab.exec(router, ["ip", "neigh", "flush", "dev", "lan0"]);
  await until(async () => {
    await lab.exec(router, ["ip", "neigh", "replace", ...neighbour, "use"]);
    return (await lab.exec(router, ["ip", "neigh", "show", ...neighbour])).stdout.includes("lladdr");
  });
}

export async function savedState(): Promise<string> {
  const kib = await guest.shell(
    'awk "/^VmRSS/ {print \\$2}" /proc/$(systemctl show -P MainPID portcullis)/status',
  );
  return `${Math.round(Number(kib) / 1024)} MiB`;
}

export function healthy(): Promise<number> {
  return guest.until("the API", async () => (await health()) === "healthy");
}

async function health(): Promise<string> {
  const { stdout } = await fromLan(["-m", "5", `http://${guest.address}:${API_PORT}/health`]);
  return stdout;
}

/** From which address the internet sees the LAN's client; empty where it does not. */
export async function page(): Promise<string> {
  return (await fromLan(["-f", "-m", "5", `http://${INTERNET.host4}/ip`])).stdout.trim();
}

export async function api(path: string, body: unknown, method = "POST"): Promise<unknown> {
  const data = ["-X", method, "-H", "content-type: application/json", "--data-binary", JSON.stringify(body)];
  return JSON.parse(
    (await fromLan(["-m", "60", ...data, `http://${guest.address}:${API_PORT}${path}`])).stdout,
  );
}

// biome-ignore lint/suspicious/noExplicitAny: the test's expectations say what is in it.
export async function read(path: string): Promise<any> {
  return JSON.parse((await fromLan(["-m", "60", `http://${guest.address}:${API_PORT}${path}`])).stdout);
}

function fromLan(argv: string[]) {
  return lab.exec(guest.seat, ["curl", "-s", ...argv]);
}

export function note(name: string, value: unknown): void {
  figures.push([name, String(value)]);
  console.log(`${name}: ${value}`);
}

export function seconds(ms: number): string {
  return `${(ms / 1_000).toFixed(1)} s`;
}

function minutes(ms: number): string {
  return `${(ms / 60_000).toFixed(1)} min`;
}
