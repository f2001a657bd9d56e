import { expect, setDefaultTimeout, test } from "bun:test";
import { INTERNET, LAN, ROUTER, VPN } from "../../../src/sandbox/topology.ts";
import type { Phone } from "../../rig/home/phone.ts";
import { until } from "../../rig/tools/until.ts";
import {
  allow,
  ask,
  device,
  gateway,
  give,
  home,
  invite,
  lab,
  openHome,
  PORT,
  phones,
  rulesAbout,
  sniffer,
  TIMEOUT_MS,
  turnOn,
  type,
} from "./home.ts";

setDefaultTimeout(TIMEOUT_MS);

openHome();

test("while it is off, there is no socket, no rule and no interface, and off leaves none", async () => {
  const link = `${lab.sandbox.interface}r`;
  const ours = new RegExp(`${link}\\b|0x0000114d|0x114d|remote devices|:${PORT}\\b`);
  expect(await rulesAbout(ours)).toEqual([]);
  await turnOn();
  expect((await rulesAbout(ours)).length).toBeGreaterThan(10);
  expect(await gateway.operate("remote", "off")).toMatchObject({ code: 0, stderr: "" });
  expect(await rulesAbout(ours)).toEqual([]);
});

test("positive control: without the kill switch what a phone sends leaves in clear, and the sniffer sees each kind", async () => {
  await turnOn();
  const [phone] = phones as [Phone, Phone];
  await invite(phone, "phone", "--exit", "amsterdam");
  const own: string[] = (await device("phone")).addresses;
  allow(() => true);
  await gateway.expose();
  const traffic = await lab.traffic(phone.namespace, { resolver: INTERNET.dns4 });
  const kinds = [
    ...[`${INTERNET.host4} UDP \\d+ > 7`, `${INTERNET.host6} UDP \\d+ > 7`, `${INTERNET.dns4} UDP \\d+ > 53`],
    ...[`${INTERNET.host4} TCP \\d+ > 7`, `${INTERNET.host4} TCP \\d+ > 80`, `${INTERNET.host4} ICMP type 8`],
  ].map((what) => new RegExp(`^\\S+ > ${what}\\b`));
  const isOwn = (leak: string) => own.some((address) => leak.startsWith(`${address} > `));
  await until(async () => {
    const clear = sniffer.peek().leaks.filter(isOwn);
    return kinds.every((kind) => clear.some((leak) => kind.test(leak)));
  });
  await traffic.stop();
});

test("a phone reaches the laptop at home, in packets up to the MTU of its file, leaves by its exit, and has the gateway's DNS", async () => {
  await turnOn();
  const [phone] = phones as [Phone, Phone];
  expect(await phone.seenAs()).toBe(phone.v4);
  const file = await invite(phone, "phone");
  expect(file).toContain(`Endpoint = ${ROUTER.public4}:${PORT}\n`);
  expect(await phone.seenAs()).toBe(VPN.vpn1.v4);
  expect([await home(phone), await home(phone, LAN.client6)]).toEqual([
    lab.namespaces.client,
    lab.namespaces.client,
  ]);
  const mtu = Number(/^MTU = (\d+)$/m.exec(file)?.[1]);
  // The uplink's 1500, and the 80 bytes of WireGuard over IPv6.
  expect(mtu).toBe(1_420);
  const ping = async (bytes: number) =>
    (await phone.run(["ping", "-c", "1", "-W", "3", "-s", `${bytes - 28}`, "-M", "do", LAN.client4])).code;
  expect([await ping(mtu), (await ping(mtu + 1)) === 0]).toEqual([0, false]);
  await give("phone", "amsterdam");
  expect(await phone.seenAs()).toBe(VPN.vpn2.v4);
  const [, dns = ""] = /^DNS = ([0-9.]+),/m.exec(file) ?? [];
  for (const resolver of [dns, INTERNET.dns4]) {
    const traffic = await lab.traffic(phone.namespace, { kinds: ["udp", "dns"], resolver });
    await traffic.sends(100);
    const { dns: asked } = await traffic.stop();
    expect(Object.keys(asked?.seenAs ?? {})).toEqual([VPN.vpn2.v4]);
  }
  await until(async () => (await device("phone")).online);
  expect(await device("phone")).toMatchObject({ kind: "remote", exit: "amsterdam", assigned: true });
});

test("a blocked phone has no internet and still reaches home; one without the LAN reaches only the internet", async () => {
  await turnOn();
  const [phone, other] = phones as [Phone, Phone];
  await invite(phone, "phone", "--exit", "blocked");
  await invite(other, "other", "--no-lan");
  expect(await home(phone)).toBe(lab.namespaces.client);
  expect(await lab.isRefused(phone.namespace, `http://${INTERNET.host4}/ip`)).toBe(true);
  expect(await other.seenAs()).toBe(VPN.vpn1.v4);
  expect(await Promise.all([home(other), home(other, LAN.client6)])).toEqual([null, null]);
  expect(await other.run(["ping", "-c", "1", "-W", "1", LAN.gateway4])).not.toMatchObject({ code: 0 });
  // The tunnel of its exit is down.
  await give("phone", "amsterdam");
  expect(await phone.seenAs()).toBe(VPN.vpn2.v4);
  await ask("POST", "/api/tunnels/amsterdam/disconnect");
  expect(await phone.seenAs()).toBeNull();
  await ask("PATCH", "/api/remote/devices/other", { lan: true });
  expect(await home(other)).toBe(lab.namespaces.client);
  await ask("PATCH", "/api/remote/devices/other", { lan: false });
  expect(await home(other)).toBeNull();
});

test("a killed service leaves the phone where it was, and the next one takes it up without a lost packet", async () => {
  await turnOn();
  const [phone] = phones as [Phone, Phone];
  await invite(phone, "phone", "--exit", "amsterdam");
  const stream = await lab.traffic(phone.namespace, { kinds: ["udp"] });
  await stream.sends(50);
  await gateway.kill("SIGKILL");
  await stream.sends(50);
  expect([await phone.seenAs(), await home(phone)]).toEqual([VPN.vpn2.v4, lab.namespaces.client]);
  await gateway.start();
  await stream.sends(200);
  const { udp } = await stream.stop();
  expect(udp?.lost).toEqual([]);
  expect([await phone.seenAs(), await home(phone)]).toEqual([VPN.vpn2.v4, lab.namespaces.client]);
  await type("remote", "remove", "phone");
  expect(await Promise.all([phone.seenAs(), home(phone)])).toEqual([null, null]);
});
