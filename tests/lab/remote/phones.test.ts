import { expect, setDefaultTimeout } from "bun:test";
import { BOUNDS_TABLE, boundsFor } from "../../../src/network/bounds-table.ts";
import { INTERNET, LAN, ROUTER, UPLINK, VPN } from "../../../src/sandbox/topology.ts";
import type { Connection } from "../../../src/system/host.ts";
import { long } from "../../fast.ts";
import { NamespaceHost } from "../../namespace-host.ts";
import { Phone } from "../../rig/home/phone.ts";
import { TO_HOME_ROUTER } from "../../rig/peers/miniupnpd.ts";
import { Doorbell } from "../../rig/peers/visited-port.ts";
import { inject } from "../../rig/tools/injector.ts";
import { LanDevice } from "../../rig/tools/lan-device.ts";
import { datagramFrame } from "../../rig/tools/packet.ts";
import { until } from "../../rig/tools/until.ts";
import {
  allow,
  ask,
  BELL,
  device,
  gateway,
  home,
  idOf,
  invite,
  lab,
  openHome,
  PORT,
  phones,
  SHADOW,
  sniffer,
  TIMEOUT_MS,
  turnOn,
  type,
} from "./home.ts";

const { test } = long("each case of what one phone shows in passing");

setDefaultTimeout(TIMEOUT_MS);

/** Of the host on the internet that sends back what it gets. */
const ECHO_PORT = 7;

openHome();

test("with a file for home only a phone reaches home, all else leaves where it is, and the command takes home away", async () => {
  await turnOn();
  const [phone] = phones as [Phone, Phone];
  const file = await invite(phone, "phone", "--home-only");
  expect(file).toContain(`AllowedIPs = ${LAN.prefix4}, ${LAN.prefix6}\n`);
  expect([await home(phone), await home(phone, LAN.client6)]).toEqual([
    lab.namespaces.client,
    lab.namespaces.client,
  ]);
  expect(await phone.seenAs()).toBe(phone.v4);
  expect(await type("remote", "lan", "phone", "off")).toBe(
    "phone no longer reaches the LAN and the gateway.\n",
  );
  expect(await home(phone)).toBeNull();
  await type("remote", "lan", "phone", "on");
  expect(await home(phone)).toBe(lab.namespaces.client);
});

test("two phones do not see each other, the LAN does not reach them, and a stolen address is refused", async () => {
  await turnOn();
  const [phone, other] = phones as [Phone, Phone];
  await invite(phone, "phone");
  await invite(other, "other");
  const otherBell = await Doorbell.start(lab, other.namespace, BELL);
  try {
    const [theirs = ""] = (await device("other")).addresses;
    const [ours = ""] = (await device("phone")).addresses;
    const reached = (namespace: string) => lab.fetchFrom(namespace, `http://${theirs}:${BELL}/`);
    // Positive control: the gateway itself reaches it.
    expect(await reached(lab.namespaces.gateway)).toBe(other.namespace);
    otherBell.rings();
    expect(await Promise.all([reached(phone.namespace), reached(lab.namespaces.client)])).toEqual([
      null,
      null,
    ]);
    expect(otherBell.rings()).toEqual([]);
    // As the other one, and as a host of the LAN.
    for (const stolen of [theirs, LAN.client4]) {
      await phone.run(["ip", "address", "add", `${stolen}/32`, "dev", phone.link]);
      const from = ["curl", "-gsf", "-m", "2", "--interface", stolen];
      expect(await phone.run([...from, `http://${INTERNET.host4}/ip`])).not.toMatchObject({ code: 0 });
      await phone.run(["ip", "address", "del", `${stolen}/32`, "dev", phone.link]);
    }
    expect(
      await phone.run(["curl", "-gsf", "-m", "2", "--interface", ours, `http://${INTERNET.host4}/ip`]),
    ).toMatchObject({ code: 0 });
  } finally {
    otherBell.stop();
  }
});

test("a phone leaves directly only with root's permission, with the gateway's address, and not a packet longer", async () => {
  await turnOn();
  const [phone, other] = phones as [Phone, Phone];
  await invite(phone, "phone");
  const direct = { exit: "direct" };
  const path = "/api/remote/devices/phone";
  const refused = await gateway.api("PATCH", path, direct);
  expect([refused.status, refused.body.error]).toEqual([
    403,
    expect.stringContaining("sudo portcullis direct on"),
  ]);
  // What follows may leave in clear, but only to the internet, and only as the gateway.
  const outside = [INTERNET.host4, INTERNET.dns4, ROUTER.lan[2].v4];
  allow(
    (leak) =>
      TO_HOME_ROUTER.test(leak) || outside.some((to) => leak.startsWith(`${UPLINK.gateway4} > ${to} `)),
  );
  expect(await gateway.operate("direct", "on")).toMatchObject({ code: 0 });
  try {
    await ask("PATCH", path, direct);
    await invite(other, "other", "--exit", "direct", "--no-lan");
    expect([await phone.seenAs(), await other.seenAs()]).toEqual([ROUTER.public4, ROUTER.public4]);
    expect(await home(phone)).toBe(lab.namespaces.client);
    expect(await device("phone")).toMatchObject({ exit: "direct", assigned: true });
    expect((await ask("GET", "/api/status")).killswitch_active).toBe(true);
    // The other one may not reach the LAN, nor the network before it.
    expect(await Promise.all([home(other), home(other, LAN.client6)])).toEqual([null, null]);
    expect(await phone.run(["ping", "-c", "1", "-W", "2", ROUTER.lan[2].v4])).toMatchObject({ code: 0 });
    expect(await other.run(["ping", "-c", "1", "-W", "1", ROUTER.lan[2].v4])).not.toMatchObject({
      code: 0,
    });
    const stream = await lab.traffic(phone.namespace, { kinds: ["udp", "dns"], resolver: INTERNET.dns4 });
    await stream.sends(100);
    expect(Object.keys((await stream.count()).dns?.seenAs ?? {})).toEqual([ROUTER.public4]);
    expect(await gateway.operate("direct", "off")).toMatchObject({ code: 0 });
    const before = (await sniffer.count()).leaks.length;
    expect(before).toBeGreaterThan(50);
    await stream.sends(100);
    const later = (await sniffer.count()).leaks.slice(before);
    expect(later.filter((leak) => !TO_HOME_ROUTER.test(leak))).toEqual([]);
    await stream.stop();
    expect([await phone.seenAs(), await other.seenAs()]).toEqual([VPN.vpn1.v4, VPN.vpn1.v4]);
  } finally {
    await gateway.operate("direct", "off");
  }
});

test("two phones behind one NAT come in, and of what they send after it has got another address nothing is lost", async () => {
  await turnOn();
  const [router] = phones as [Phone, Phone];
  const inside = [await Phone.behind(router, 4), await Phone.behind(router, 5)];
  try {
    for (const [index, phone] of inside.entries()) await invite(phone, `phone ${index}`);
    const streams = await Promise.all(
      inside.map(({ namespace }) => lab.traffic(namespace, { kinds: ["udp"] })),
    );
    for (const stream of streams) await stream.sends(50);
    const sent = async () => Promise.all(streams.map(async (each) => (await each.count()).udp?.sent ?? 0));
    const before = await sent();
    await router.moves(6);
    const after = await sent();
    for (const stream of streams) await stream.sends(100);
    const calling = async () =>
      (await ask("GET", "/api/remote")).devices.map(({ endpoint }: { endpoint: string }) => endpoint);
    expect(await calling()).toEqual([router.v4, router.v4]);
    for (const [index, stream] of streams.entries()) {
      const lost = (await stream.stop()).udp?.lost ?? [];
      // What was under way, and what was sent around the moment in which it had no address.
      const [first = 0, last = 0] = [before[index], after[index]];
      expect(lost.filter((number) => number <= first - 50 || number > last + 50)).toEqual([]);
    }
    for (const phone of inside) expect(await home(phone)).toBe(lab.namespaces.client);
  } finally {
    for (const phone of inside) await phone.leaves();
    await router.moves(1);
  }
});

test("who sends from WireGuard's port to a phone's address takes nothing of it, and strangers leave no trace", async () => {
  await turnOn();
  const [phone, stranger] = phones as [Phone, Phone];
  await invite(phone, "phone");
  const own = (await phone.run(["wg", "show", phone.link, "listen-port"])).stdout.trim();
  const shape = new RegExp(`^${UPLINK.gateway4} > ${phone.v4} UDP \\d+ > ${own}\\b`);
  const direct = new RegExp(
    `^${UPLINK.gateway4} > ${INTERNET.host4} (UDP \\d+ > ${ECHO_PORT}\\b|ICMP type 3 )`,
  );
  allow((leak) => [shape, direct, TO_HOME_ROUTER].some((each) => each.test(leak)));
  const answers = `table inet answers { chain in { type filter hook prerouting priority raw\nudp sport ${ECHO_PORT} udp dport ${PORT} counter\n}\n}\n`;
  const match = `udp dport ${own} udp length ${8 + SHADOW.length} counter`;
  const seen = `table inet seen { chain in { type filter hook prerouting priority raw\n${match}\n}\n}\n`;
  expect(await phone.run(["nft", "-f", "-"], seen)).toMatchObject({ code: 0 });
  const laptop = await LanDevice.plugIn(lab, 2);
  expect(await lab.fetchFrom(laptop.namespace, `http://${INTERNET.host4}/ip`)).toBe(VPN.vpn1.v4);
  expect(await gateway.operate("direct", "on")).toMatchObject({ code: 0 });
  const toMac = (
    await lab.exec(lab.namespaces.gateway, ["cat", "/sys/class/net/lan0/address"])
  ).stdout.trim();
  const frame = datagramFrame({
    ...{ fromMac: laptop.mac.replaceAll(":", ""), toMac: toMac.replaceAll(":", "") },
    ...{ from: laptop.v4, to: phone.v4, sourcePort: PORT, targetPort: Number(own), payload: SHADOW },
  });
  const stream = await lab.traffic(phone.namespace, { kinds: ["udp"] });
  // The laptop's own WireGuard, from the port at which the gateway listens.
  expect(await lab.exec(laptop.namespace, ["nft", "-f", "-"], answers)).toMatchObject({ code: 0 });
  const echoed = datagramFrame({
    ...{ fromMac: laptop.mac.replaceAll(":", ""), toMac: toMac.replaceAll(":", "") },
    ...{ from: laptop.v4, to: INTERNET.host4, sourcePort: PORT, targetPort: ECHO_PORT, payload: SHADOW },
  });
  try {
    await ask("PUT", `/api/devices/${laptop.mac}`, { exit: "direct" });
    await inject(laptop.namespace, "lan0", Array<Uint8Array>(5).fill(echoed));
    await until(async () => {
      const counted = await lab.exec(laptop.namespace, ["nft", "list", "table", "inet", "answers"]);
      return /packets [1-9]/.test(counted.stdout);
    });
    for (const exit of ["direct", "main"]) {
      await ask("PUT", `/api/devices/${laptop.mac}`, { exit });
      await inject(laptop.namespace, "lan0", Array<Uint8Array>(40).fill(frame));
      await stream.sends(50);
    }
    // Positive control: what the direct one has sent has come to the phone's port.
    const { stdout: counted } = await phone.run(["nft", "list", "table", "inet", "seen"]);
    expect(Number(/packets (\d+)/.exec(counted)?.[1])).toBeGreaterThan(0);
    // Handshakes of a stranger, who has no key.
    const handshake = "{ printf '\\001\\000\\000\\000'; head -c 144 /dev/zero; }";
    const flood = `for i in $(seq 300); do ${handshake} > /dev/udp/${ROUTER.public4}/${PORT}; done`;
    expect(await stranger.run(["bash", "-c", flood])).toMatchObject({ code: 0 });
    const tracked: Connection[] = [];
    await new NamespaceHost(lab.namespaces.gateway).endConnections((each) => {
      tracked.push(each);
      return false;
    });
    expect(tracked.length).toBeGreaterThan(0);
    expect(tracked.filter(({ original }) => original.source === stranger.v4)).toEqual([]);
    const { udp } = await stream.stop();
    expect(udp?.lost).toEqual([]);
    expect([await phone.seenAs(), await home(phone)]).toEqual([VPN.vpn1.v4, lab.namespaces.client]);
  } finally {
    await gateway.operate("direct", "off");
    await phone.run(["nft", "delete", "table", "inet", "seen"]);
  }
});

test("a phone has its share of connections over each family and not more, and others do not notice", async () => {
  await turnOn();
  const [phone, other] = phones as [Phone, Phone];
  await invite(phone, "phone");
  await invite(other, "other");
  const own: string[] = (await device("phone")).addresses;
  const kernel = new NamespaceHost(lab.namespaces.gateway);
  const begin = async () => {
    await kernel.endConnections(({ original }) => own.includes(original.source));
    for (const host of [INTERNET.host4, INTERNET.host6]) {
      const each = `for i in $(seq 60); do echo > /dev/udp/${host}/7; done`;
      expect(await phone.run(["bash", "-c", each])).toMatchObject({ code: 0 });
    }
    const taken = own.map(() => 0);
    await kernel.endConnections(({ original }) => {
      const at = own.indexOf(original.source);
      if (original.destinationPort === 7) taken[at] = (taken[at] ?? 0) + 1;
      return false;
    });
    return taken;
  };
  // Positive control: they are fewer than the service permits.
  await until(async () => (await begin()).every((taken) => taken === 60));
  const limits = { most: 40, places: 65_536, ports: [5000], remote: `${lab.sandbox.interface}r` };
  try {
    await kernel.run(["nft", "-f", "-"], {
      stdin: `delete table ${BOUNDS_TABLE}\n${boundsFor(limits)}`,
    });
    // Never more than its share, and all of it once the machine has had time for what the phone sent.
    await until(async () => {
      const taken = await begin();
      expect(Math.max(...taken)).toBeLessThanOrEqual(40);
      return taken.every((each) => each === 40);
    });
    // It has an answer at once, and not a time-out.
    expect(await lab.isRefused(phone.namespace, `http://${INTERNET.host4}/`)).toBe(true);
    expect([await other.seenAs(), await home(other)]).toEqual([VPN.vpn1.v4, lab.namespaces.client]);
    const { checks } = await ask("GET", "/api/checks");
    const { found } = checks.find(({ id }: { id: string }) => id === "connections");
    for (const address of own) expect(found).toContain(address);
  } finally {
    // The service makes its own again.
    await kernel.run(["nft", "delete", "table", ...BOUNDS_TABLE.split(" ")]);
  }
  await until(async () => (await phone.seenAs()) === VPN.vpn1.v4);
});

test("what knows devices knows a phone: counters, events, history, metrics and schedules, and forgets it", async () => {
  await turnOn();
  const [phone, other] = phones as [Phone, Phone];
  const heard: { type: string; payload: { id?: string; devices?: { id: string }[] } }[] = [];
  const socket = new WebSocket(`ws://127.0.0.1:${gateway.port}/ws`);
  socket.onmessage = ({ data }) => heard.push(JSON.parse(data));
  const told = (type: string, id: string) =>
    heard.some(({ type: each, payload }) => each === type && JSON.stringify(payload).includes(id));
  try {
    await invite(phone, "phone");
    const id = await idOf("phone");
    // What home sends to it counts for both.
    const laptop = async () =>
      (await ask("GET", "/api/devices")).devices.find(({ addresses }: { addresses: string[] }) =>
        addresses.includes(LAN.client4),
      );
    expect(await home(phone)).toBe(lab.namespaces.client);
    await until(async () => (await laptop()) !== undefined);
    const before = await laptop();
    const ping = ["ping", "-c", "10", "-i", "0.05", "-s", "1000", LAN.client4];
    expect(await phone.run(ping)).toMatchObject({ code: 0 });
    await until(async () => {
      const [{ rx_bytes, tx_bytes, online, kind }, home] = [await device("phone"), await laptop()];
      const carried = [rx_bytes, tx_bytes, home.rx_bytes - before.rx_bytes, home.tx_bytes - before.tx_bytes];
      return online && kind === "remote" && carried.every((bytes) => bytes >= 10_000);
    });
    await until(async () => told("device_update", id) && told("remote_update", "devices"));
    const by = async (exit: string) => {
      const text = await (await fetch(`http://127.0.0.1:${gateway.port}/metrics`)).text();
      return Number(new RegExp(`^portcullis_devices\\{exit="${exit}"\\} (\\d+)$`, "m").exec(text)?.[1]);
    };
    expect(await by("amsterdam")).toBe(0);
    const { time_zone } = await ask("GET", "/api/schedules");
    const inHours = (hours: number) =>
      Temporal.Now.zonedDateTimeISO(time_zone)
        .add({ hours })
        .toPlainTime()
        .toString({ smallestUnit: "minute" });
    const schedule = { device: id, exit: "amsterdam", at: inHours(-1), until: inHours(6) };
    await ask("PUT", "/api/schedules/phone", schedule);
    expect([await phone.seenAs(), await by("amsterdam")]).toEqual([VPN.vpn2.v4, 1]);
    // At its end the service writes what it has gathered.
    await gateway.restart();
    const history = () => ask("GET", `/api/history?device=${encodeURIComponent(id)}`);
    expect((await history()).points[0].rx_bytes).toBeGreaterThanOrEqual(10_000);
    expect(await phone.seenAs()).toBe(VPN.vpn2.v4);
    const { events } = await ask("GET", "/api/events");
    expect(JSON.stringify(events)).toContain("phone may connect from outside.");
    await type("remote", "remove", "phone");
    expect((await history()).points).toEqual([]);
    // Its schedule holds for no other device.
    await invite(other, "other");
    expect(await idOf("other")).not.toBe(id);
    expect(await other.seenAs()).toBe(VPN.vpn1.v4);
  } finally {
    socket.close();
    await gateway.api("DELETE", "/api/schedules/phone");
  }
});
