import { afterAll, beforeAll, beforeEach, expect, setDefaultTimeout } from "bun:test";
import { decode, encode, RECURSION_DESIRED } from "dns-packet";
import { RESOLVER_PORT } from "../../src/dns/asker-ports.ts";
import { commandIn } from "../../src/sandbox/namespace.ts";
import { INTERNET, LAN, VPN } from "../../src/sandbox/topology.ts";
import { long } from "../fast.ts";
import { Website } from "../rig/peers/website.ts";
import { inject } from "../rig/tools/injector.ts";
import { place } from "../rig/tools/intruder.ts";
import { createLab, type Gateway, type Lab } from "../rig/tools/lab.ts";
import { LanDevice } from "../rig/tools/lan-device.ts";
import { datagramFrame } from "../rig/tools/packet.ts";
import { type Outcome, Probe } from "../rig/tools/probe.ts";
import { askerIn, questions } from "../rig/tools/question.ts";
import { until } from "../rig/tools/until.ts";
import { Wiretap } from "../rig/tools/wiretap.ts";

const { test } = long("each case of what the leaks show in passing");

const TEST_MS = 300_000;
setDefaultTimeout(TEST_MS);

/** Of the gateway itself, and of the internet. */
const RESOLVERS = [LAN.gateway4, LAN.gateway6, INTERNET.dns4, INTERNET.dns6, "9.9.9.9"];
const BLOCKED_NAME = "ads.whoami.test";
const LIST = "https://internet.test/ads.txt";

let lab: Lab;
let website: Website;
let device: LanDevice;
let gateway: Gateway;

beforeAll(async () => {
  lab = await createLab({ cards: 2 });
  device = await LanDevice.plugIn(lab, 1);
  website = await Website.start(lab);
  website.show("ads.txt", `0.0.0.0 ${BLOCKED_NAME}\n`);
  gateway = await lab.startGateway({ environment: website.environment });
  await gateway.ask("POST", "/api/connect", { server: "box-vpn-1" });
  await gateway.ask("PUT", "/api/tunnels/second", { provider: "managed", server: "box-vpn-2" });
  await gateway.ask("PUT", `/api/devices/${device.mac}`, { exit: "second" });
  await gateway.keep();
});
beforeEach(async () => {
  await gateway.reset();
  website.visits();
});
afterAll(async () => {
  await website?.stop();
  await lab?.close();
});

const dns = async () => (await gateway.api("GET", "/api/dns")).body;

/** The gateway answers questions itself, and has the list. */
async function turnOn(): Promise<void> {
  await gateway.ask("PUT", "/api/dns/lists", { lists: [{ url: LIST }] });
  await until(async () => (await dns()).blocked_names === 1, TEST_MS);
  expect(await dns()).toMatchObject({ state: "on", reason: null });
}

/** What becomes of a question to each resolver, over UDP and TCP. */
async function outcomes(namespace: string, name: string): Promise<Outcome[]> {
  const probe = await Probe.start(namespace, questions(RESOLVERS, name));
  await probe.until(({ answered, refused }) => answered + refused > 0);
  return probe.stop();
}

/** Who has asked the internet, as all resolvers say. */
async function askers(namespace: string, name: string): Promise<string[]> {
  const all = (await outcomes(namespace, name)).map(({ answered, answer }) =>
    answered === 0 ? "refused" : (rcodeIn(answer) ?? askerIn(answer)),
  );
  return [...new Set(all)];
}

/** Null for an answer that is no error. */
function rcodeIn(answer: string): string | null {
  const bytes = Buffer.from(answer, "hex");
  const message = bytes.readUInt16BE(0) === bytes.length - 2 ? bytes.subarray(2) : bytes;
  const { rcode } = decode(message) as { rcode?: string };
  return rcode === undefined || rcode === "NOERROR" ? null : rcode;
}

const client = (name: string) => askers(lab.namespaces.client, name);
const other = (name: string) => askers(device.namespace, name);

test("without a list the resolvers of the tunnels answer, as if there were none of the gateway's own", async () => {
  expect((await dns()).state).toBe("off");
  // These tunnels have no IPv6 resolver, so questions over IPv6 are refused.
  await until(async () => Bun.deepEquals(await client(BLOCKED_NAME), [VPN.vpn1.v4, "refused"]), TEST_MS);
  await until(async () => Bun.deepEquals(await other(BLOCKED_NAME), [VPN.vpn2.v4, "refused"]), TEST_MS);
  const { stdout } = await lab.exec(lab.namespaces.gateway, ["ss", "-lnH", "sport", "=", ":10053"]);
  expect(stdout).toBe("");
});

test("a list is fetched through the tunnel; its names do not exist, unless it is paused", async () => {
  const sniffer = await lab.sniff();
  await turnOn();
  expect(website.visits()).toMatchObject([{ path: "ads.txt", from: VPN.vpn1.v4, status: 200 }]);
  expect(await client(BLOCKED_NAME)).toEqual(["NXDOMAIN"]);
  expect(await client(`x.${BLOCKED_NAME}`)).toEqual(["NXDOMAIN"]);
  await gateway.ask("POST", "/api/dns/pause", {});
  expect(await client(BLOCKED_NAME)).toEqual([VPN.vpn1.v4]);
  expect((await sniffer.stop()).leaks).toEqual([]);
});

test("each device's question leaves by its own exit, over UDP and TCP, whomever it asks", async () => {
  await turnOn();
  const { vpn1, vpn2 } = lab.sandbox.serverInterfaces;
  const [sniffer, first, second] = await Promise.all([
    lab.sniff(),
    Wiretap.start(lab.namespaces.vpn1, vpn1, "port 53"),
    Wiretap.start(lab.namespaces.vpn2, vpn2, "port 53"),
  ]);
  expect(await client("one.whoami.test")).toEqual([VPN.vpn1.v4]);
  expect(await other("two.whoami.test")).toEqual([VPN.vpn2.v4]);
  const [byFirst, bySecond] = (await Promise.all([first.stop(), second.stop()])).map((lines) =>
    lines.join("\n").toLowerCase(),
  );
  expect(byFirst).toContain("one.whoami.test");
  expect(byFirst).not.toContain("two.whoami.test");
  expect(bySecond).toContain("two.whoami.test");
  expect(bySecond).not.toContain("one.whoami.test");
  expect((await sniffer.stop()).leaks).toEqual([]);
});

test("while its exit is down, a device's questions are refused, and asked by no other", async () => {
  await turnOn();
  const { vpn1 } = lab.sandbox.serverInterfaces;
  const [sniffer, tap] = await Promise.all([
    lab.sniff(),
    Wiretap.start(lab.namespaces.vpn1, vpn1, "port 53"),
  ]);
  await gateway.ask("POST", "/api/tunnels/second/disconnect");
  expect(await other("three.whoami.test")).toEqual(["REFUSED"]);
  // The control: the tap sees what leaves there.
  expect(await client("four.whoami.test")).toEqual([VPN.vpn1.v4]);
  const seen = (await tap.stop()).join("\n").toLowerCase();
  expect(seen).toContain("four.whoami.test");
  expect(seen).not.toContain("three.whoami.test");
  expect((await sniffer.stop()).leaks).toEqual([]);
});

test("a question that a device forges for another is asked by its own exit, or by none if it is blocked", async () => {
  await turnOn();
  const { gateway: toMac } = await place(lab, "lan");
  const { vpn1, vpn2 } = lab.sandbox.serverInterfaces;
  const forge = (name: string, from: string, to: string) =>
    inject(device.namespace, "lan0", [
      datagramFrame({
        ...{ fromMac: device.mac.replaceAll(":", ""), toMac, from, to, sourcePort: 4_000, targetPort: 53 },
        payload: encode({
          type: "query",
          id: 1,
          flags: RECURSION_DESIRED,
          questions: [{ type: "TXT", name }],
        }),
      }),
    ]);
  const forgeAll = async (label: string) => {
    const taps = await Promise.all([
      Wiretap.start(lab.namespaces.vpn1, vpn1, "port 53"),
      Wiretap.start(lab.namespaces.vpn2, vpn2, "port 53"),
    ]);
    // The control: the tap sees what leaves there.
    expect(await client(`${label}.whoami.test`)).toEqual([VPN.vpn1.v4]);
    await forge(`${label}4.whoami.test`, LAN.client4, INTERNET.dns4);
    await forge(`${label}6.whoami.test`, LAN.client6, LAN.gateway6);
    const seen = (await Promise.all(taps.map((tap) => tap.stop()))).map((lines) =>
      lines.join().toLowerCase(),
    );
    return [`${label}4.`, `${label}6.`].map((name) => seen.map((each) => each.includes(name)));
  };
  expect(await forgeAll("own")).toEqual([
    [false, true],
    [false, true],
  ]);
  await gateway.ask("PUT", `/api/devices/${device.mac}`, { exit: "blocked" });
  expect(await forgeAll("none")).toEqual([
    [false, false],
    [false, false],
  ]);
  expect((await dns()).devices.find(({ id }: { id: string }) => id === device.mac)).toMatchObject({
    asked: 4,
  });
});

test("the first question from an address that nobody has seen yet is answered, by the exit of its device", async () => {
  await turnOn();
  const addresses = Array.from({ length: 12 }, (_, number) => `fd77::21:${number}`);
  const lines = addresses.map((address) => `address add ${address}/64 dev lan0 nodad`);
  await lab.exec(device.namespace, ["ip", "-batch", "-"], lines.join("\n"));
  const message = questions([LAN.gateway6], "first.whoami.test")[0]?.payload;
  const script = `await Promise.all(${JSON.stringify(addresses)}.map(async (hostname) => {
      const { promise, resolve } = Promise.withResolvers();
      const socket = await Bun.udpSocket({ hostname, socket: { data: (_, bytes) => resolve(bytes.toHex()) } });
      socket.send(Buffer.from("${message}", "hex"), 53, "${LAN.gateway6}");
      console.log(await promise);
      socket.close();
    }))`;
  const { stdout } = await lab.exec(device.namespace, [process.execPath, "-e", script]);
  const answers = stdout.trim().split("\n");
  expect(answers.map((answer) => rcodeIn(answer) ?? askerIn(answer))).toEqual(
    addresses.map(() => VPN.vpn2.v4),
  );
});

test("if the service is killed, questions are refused at once, and nothing else answers them", async () => {
  await turnOn();
  const sniffer = await lab.sniff();
  await gateway.kill("SIGKILL");
  expect(await client("five.whoami.test")).toEqual(["refused"]);
  expect(await other("five.whoami.test")).toEqual(["refused"]);
  await gateway.restart();
  await until(async () => (await dns()).blocked_names === 1, TEST_MS);
  expect(await client(BLOCKED_NAME)).toEqual(["NXDOMAIN"]);
  expect(await other("five.whoami.test")).toEqual([VPN.vpn2.v4]);
  expect((await sniffer.stop()).leaks).toEqual([]);
});

test("a port of the resolver itself refuses the LAN, and does not answer inside a tunnel", async () => {
  await turnOn();
  const refusedAt = async (namespace: string, addresses: readonly string[]) => {
    const targets = addresses.flatMap((address) =>
      (["udp", "tcp"] as const).map((protocol) => ({
        ...{ protocol, address, port: RESOLVER_PORT, payload: "00" },
      })),
    );
    const probe = await Probe.start(namespace, targets);
    await probe.sends();
    return (await probe.stop()).map(({ answered, refused }) => answered + refused > 0);
  };
  const { client, vpn1 } = lab.namespaces;
  expect(await refusedAt(client, [LAN.gateway4, LAN.gateway6])).toEqual(Array(4).fill(true));
  expect(await refusedAt(vpn1, ["10.64.0.2", "fd64::2"])).toEqual(Array(4).fill(false));
});

test("DNS over TLS is refused while the gateway answers itself, and not otherwise", async () => {
  const target = { protocol: "tcp", address: INTERNET.host4, port: 853, payload: "00" } as const;
  const server = Bun.spawn(
    commandIn(lab.namespaces.internet, [
      ...[process.execPath, "-e"],
      `Bun.listen({ hostname: "${INTERNET.host4}", port: 853, socket: { data(socket) { socket.write("x"); } } })`,
    ]),
    { stdin: "ignore", stdout: "ignore", stderr: "inherit" },
  );
  try {
    const open = await Probe.start(lab.namespaces.client, [target]);
    await open.until(({ answered }) => answered > 0);
    await open.stop();
    await turnOn();
    const closed = await Probe.start(lab.namespaces.client, [target]);
    await closed.until(({ refused }) => refused > 0);
    expect((await closed.stop())[0]?.answered).toBe(0);
  } finally {
    server.kill("SIGKILL");
    await server.exited;
  }
});

test("a resolver on port 53 of the gateway stays in charge", async () => {
  await turnOn();
  const options = [
    "--conf-file=/dev/null",
    "--keep-in-foreground",
    "--pid-file=",
    "--user=root",
    "--no-resolv",
  ];
  const dnsmasq = Bun.spawn(
    commandIn(lab.namespaces.gateway, [
      ...["dnsmasq", ...options, "--no-hosts", "--bind-interfaces", `--listen-address=${LAN.gateway4}`],
      `--address=/${BLOCKED_NAME}/192.0.2.7`,
    ]),
    { stdin: "ignore", stdout: "ignore", stderr: "ignore" },
  );
  try {
    await until(async () => (await dns()).state === "elsewhere", TEST_MS);
    const query = encode({
      ...{ type: "query", id: 2, flags: RECURSION_DESIRED },
      questions: [{ type: "A", name: BLOCKED_NAME }],
    });
    const probe = await Probe.start(lab.namespaces.client, [
      { protocol: "udp", address: LAN.gateway4, port: 53, payload: query.toHex() },
    ]);
    await probe.until(({ answer }) => answer.endsWith("c0000207"));
    await probe.stop();
  } finally {
    dnsmasq.kill("SIGKILL");
    await dnsmasq.exited;
  }
  await until(async () => (await dns()).state === "on", TEST_MS);
});
