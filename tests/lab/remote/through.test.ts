import { afterAll, beforeAll, beforeEach, expect, setDefaultTimeout } from "bun:test";
import { LAN, ROUTER, UPLINK, VPN } from "../../../src/sandbox/topology.ts";
import { long } from "../../fast.ts";
import { Phone } from "../../rig/home/phone.ts";
import { NatPmpProvider } from "../../rig/peers/nat-pmp-provider.ts";
import { Doorbell } from "../../rig/peers/visited-port.ts";
import { createLab, ENDPOINTS, type Gateway, type Lab } from "../../rig/tools/lab.ts";
import { PROGRAM } from "../../rig/tools/program.ts";
import { Sniffer } from "../../rig/tools/sniffer.ts";
import { until } from "../../rig/tools/until.ts";

const { test } = long("each case of what one phone shows in passing");

setDefaultTimeout(240_000);

/** At home, on the laptop. */
const BELL = 8_080;
/** What the provider forwards at the first server, and the home router. */
const PORT = 51_413;
/** Between two datagrams of a phone, each of which passes three tunnels. */
const OFTEN_MS = 20;
/** What WireGuard says to a phone by the uplink. */
const CLEAR = new RegExp(`^${UPLINK.gateway4} > 203\\.0\\.113\\.10\\d UDP ${PORT} > \\d+`);

let lab: Lab;
let gateway: Gateway;
let phones: Phone[];
let bell: Doorbell;

beforeAll(async () => {
  lab = await createLab({ cards: 2 });
  phones = [await Phone.away(lab, 1), await Phone.away(lab, 2)];
  bell = await Doorbell.start(lab, lab.namespaces.client, BELL);
  const [inside = ""] = lab.sandbox.managedAddress.split(",")[0]?.split("/") ?? [];
  for (const [namespace, to] of [
    [lab.namespaces.vpn1, inside],
    [lab.namespaces.router, UPLINK.gateway4],
  ] as const) {
    const rule = `iifname "wan0" udp dport ${PORT} dnat ip to ${to}`;
    const text = `table inet ports { chain in { type nat hook prerouting priority dstnat - 1\n${rule}\n}\n}\n`;
    expect(await lab.exec(namespace, ["nft", "-f", "-"], text)).toMatchObject({ code: 0 });
  }
  gateway = await lab.startGateway();
  const { customBody } = lab.sandbox.servers[0];
  await gateway.ask("POST", "/api/custom/add", customBody);
  await gateway.ask("PUT", "/api/tunnels/amsterdam", { provider: "custom", server: customBody.name });
});

beforeEach(async () => {
  for (const phone of phones) await phone.hangsUp();
  await gateway.ask("POST", "/api/connect", { server: "box-vpn-1" });
});

afterAll(async () => {
  bell?.stop();
  await lab?.close();
});

/** The phone takes the file. */
async function invite(phone: Phone, name: string, exit: string): Promise<string> {
  const url = ["--url", `http://127.0.0.1:${gateway.port}`];
  const add = [...PROGRAM, "remote", "add", name, "--file", "--exit", exit, ...url];
  const { stdout, stderr } = await lab.outside(add);
  expect(stderr).toBe("");
  await phone.takes(stdout);
  return stdout;
}

const isHome = async ({ namespace }: Phone) =>
  (await lab.fetchFrom(namespace, `http://${LAN.client4}:${BELL}/`)) === lab.namespaces.client;
/** Which server the phone calls. */
const calls = async (phone: Phone) => {
  const { stdout } = await phone.run(["wg", "show", phone.link, "endpoints"]);
  return /\t(\S+):\d+$/m.exec(stdout)?.[1];
};

test("without a port, the provider is asked for one, and devices follow when it gives another", async () => {
  const refused = await gateway.operate("remote", "on", "--through", "main");
  expect(refused.code).not.toBe(0);
  expect(refused.stderr).toContain("opens no port");
  expect(refused.stderr).toContain("--port");
  expect((await gateway.ask("GET", "/api/remote")).on).toBe(false);
  const provider = await NatPmpProvider.start(lab, "vpn1", 40_001, VPN.vpn1.v4);
  try {
    const on = await gateway.operate("remote", "on", "--through", "main");
    expect(on).toMatchObject({ code: 0, stderr: "" });
    const [phone] = phones as [Phone, Phone];
    const file = await invite(phone, "first", "main");
    expect(file).toContain(`Endpoint = ${VPN.vpn1.v4}:40001\n`);
    expect([await phone.seenAs(), await isHome(phone)]).toEqual([VPN.vpn1.v4, true]);
    // A page that fills its packets.
    const big = await phone.run(["ping", "-c", "1", "-W", "3", "-s", "1212", "-M", "do", LAN.client4]);
    expect(big).toMatchObject({ code: 0 });
    provider.restart();
    await gateway.ask("POST", "/api/disconnect");
    expect(await gateway.ask("GET", "/api/remote")).toMatchObject({
      ...{ endpoint: null, error: "the main tunnel is not connected" },
    });
    expect([await phone.seenAs(), await isHome(phone)]).toEqual([null, false]);
    await gateway.ask("POST", "/api/connect", { server: "box-vpn-1" });
    await until(async () => (await gateway.ask("GET", "/api/remote")).endpoint !== null);
    const { endpoint, error } = await gateway.ask("GET", "/api/remote");
    expect([endpoint === `${VPN.vpn1.v4}:40001`, error]).toEqual([false, null]);
    const { public_key } = await gateway.ask("GET", "/api/remote");
    await phone.run(["wg", "set", phone.link, "peer", public_key, "endpoint", endpoint]);
    await until(() => isHome(phone));
    expect(await gateway.operate("remote", "off")).toMatchObject({ code: 0 });
  } finally {
    await provider.stop();
  }
});

test("phones in use that came in through main follow it to another server by themselves, and nothing of them leaves in clear or by another exit", async () => {
  const on = await gateway.operate("remote", "on", "--through", "main", "--port", `${PORT}`);
  expect(on).toMatchObject({ code: 0, stderr: "" });
  const [byMain, other] = phones as [Phone, Phone];
  await invite(byMain, "phone", "main");
  await invite(other, "other", "amsterdam");
  const sniffer = await Sniffer.start(lab.namespaces.router, "lan0", {
    endpoints: ENDPOINTS,
    direction: "in",
  });
  for (const phone of phones)
    expect([await phone.seenAs(), await calls(phone)]).toEqual([VPN.vpn1.v4, VPN.vpn1.v4]);
  const streams = await Promise.all(
    phones.map(({ namespace }) => lab.traffic(namespace, { kinds: ["udp", "web"], intervalMs: OFTEN_MS })),
  );
  for (const stream of streams) await stream.sends(50);
  await gateway.ask("POST", "/api/connect", { server: "box-vpn-2" });
  for (const stream of streams) await stream.sends(100);
  // At once by an answer that was under way, or by the handshake that the gateway begins after 15 s of silence.
  for (const phone of phones) await until(async () => (await calls(phone)) === VPN.vpn2.v4);
  expect(await Promise.all(phones.map(isHome))).toEqual([true, true]);
  expect([await byMain.seenAs(), await other.seenAs()]).toEqual([VPN.vpn2.v4, VPN.vpn1.v4]);
  const [ofMain, ofOther] = await Promise.all(streams.map((stream) => stream.stop()));
  expect(Object.keys(ofMain?.web?.seenAs ?? {}).toSorted()).toEqual([VPN.vpn1.v4, VPN.vpn2.v4]);
  expect(Object.keys(ofOther?.web?.seenAs ?? {})).toEqual([VPN.vpn1.v4]);
  // What a phone that calls anew must be told.
  expect((await gateway.ask("GET", "/api/remote")).endpoint).toBe(`${VPN.vpn2.v4}:${PORT}`);
  expect((await sniffer.count()).leaks).toEqual([]);
  // Positive control: when devices come in by the uplink, the sniffer sees WireGuard's answers to them.
  const { public_key } = await gateway.ask("GET", "/api/remote");
  const byUplink = await gateway.operate("remote", "on", "--endpoint", ROUTER.public4, "--port", `${PORT}`);
  expect(byUplink).toMatchObject({ code: 0, stderr: "" });
  const endpoint = ["endpoint", `${ROUTER.public4}:${PORT}`];
  await byMain.run(["wg", "set", byMain.link, "peer", public_key, ...endpoint]);
  await until(() => isHome(byMain));
  expect((await sniffer.count()).leaks.some((leak) => CLEAR.test(leak))).toBe(true);
  await sniffer.stop();
});
