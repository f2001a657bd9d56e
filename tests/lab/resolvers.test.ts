import { afterAll, beforeAll, beforeEach, expect, setDefaultTimeout } from "bun:test";
import { decode, encode, RECURSION_DESIRED } from "dns-packet";
import { commandIn } from "../../src/sandbox/namespace.ts";
import { INTERNET, LAN, ROUTER, VPN } from "../../src/sandbox/topology.ts";
import { long } from "../fast.ts";
import { createLab, type Gateway, type Lab } from "../rig/tools/lab.ts";
import { type Outcome, Probe, type Target } from "../rig/tools/probe.ts";
import { askerIn, questions } from "../rig/tools/question.ts";
import type { Sniffer } from "../rig/tools/sniffer.ts";
import { until } from "../rig/tools/until.ts";

const { test } = long("the same gateway with other resolvers");

setDefaultTimeout(120_000);

const PATIENCE_MS = 60_000;
/** On the list of a Pi-hole, which answers for it. */
const BLOCKED_NAME = "ads.test";
const BLOCKED_ANSWER = "0.0.0.0";
/** Of the computer that resolves names for the LAN. */
const HELPER = { v4: "192.168.77.20", v6: "fd77::20" };
/** A resolver on the gateway that sends by the uplink, with IP_UNICAST_IF, as systemd-resolved does (ip(7)). */
const BOUND = "127.0.0.53";
const RESOLVERS = [LAN.gateway4, LAN.gateway6, HELPER.v4, HELPER.v6];

let lab: Lab;
let helper: string;
let gateway: Gateway;
let sniffer: Sniffer;

beforeAll(async () => {
  lab = await createLab({ cards: 2, computers: 3 });
  helper = lab.sandbox.computers.find(({ v4 }) => v4 === HELPER.v4)?.namespace ?? "";
  gateway = await lab.startGateway();
  // Both ask a resolver on the internet; the gateway's also asks the home router, which DHCP names.
  startDnsmasq(lab.namespaces.gateway, [LAN.gateway4, LAN.gateway6], [INTERNET.dns4, ROUTER.lan[2].v4]);
  startDnsmasq(lab.namespaces.gateway, [BOUND], [`${ROUTER.lan[2].v4}@${lab.sandbox.uplink}`]);
  startDnsmasq(helper, [HELPER.v4, HELPER.v6], [INTERNET.dns4]);
  await connect("box-vpn-1");
  await gateway.keep();
});
beforeEach(async () => {
  await gateway.reset();
  sniffer = await lab.sniff();
});
afterAll(() => lab?.close());

/** As a Pi-hole configures it; it ends with the lab. */
function startDnsmasq(namespace: string, addresses: readonly string[], upstream: readonly string[]): void {
  const options = [
    ...["--conf-file=/dev/null", "--keep-in-foreground", "--pid-file=", "--user=root", "--bind-interfaces"],
    ...["--no-resolv", "--no-hosts", "--cache-size=0", "--all-servers"],
    ...addresses.map((address) => `--listen-address=${address}`),
    ...upstream.map((server) => `--server=${server}`),
    `--address=/${BLOCKED_NAME}/${BLOCKED_ANSWER}`,
  ];
  Bun.spawn(commandIn(namespace, ["dnsmasq", ...options]), {
    stdin: "ignore",
    stdout: "ignore",
    stderr: "ignore",
  });
}

async function connect(server: string): Promise<void> {
  expect((await gateway.api("POST", "/api/connect", { server })).status).toBe(200);
}

const state = async () => (await gateway.api("GET", "/api/status")).body.state;
const leaks = async () => (await sniffer.count()).leaks;

function blockedQuestions(): Target[] {
  const query = encode({
    ...{ type: "query", id: 2, flags: RECURSION_DESIRED },
    questions: [{ type: "A", name: BLOCKED_NAME }],
  });
  return RESOLVERS.map((address) => ({ protocol: "udp", address, port: 53, payload: query.toHex() }));
}

const asks = () => Probe.start(lab.namespaces.client, questions(RESOLVERS));
const title = ({ target: { protocol, address } }: Outcome) => `${address} over ${protocol}`;
const askers = (outcomes: readonly Outcome[]) =>
  Object.fromEntries(
    outcomes.map((outcome) => [title(outcome), outcome.answered > 0 ? askerIn(outcome.answer) : "nobody"]),
  );
const all = (asker: string) =>
  Object.fromEntries(
    RESOLVERS.flatMap((address) => ["udp", "tcp"].map((protocol) => [`${address} over ${protocol}`, asker])),
  );

/** Every resolver says that the internet was asked by that server. */
async function askedBy(server: { v4: string }): Promise<void> {
  let found = {};
  await until(async () => {
    const probe = await asks();
    await probe.sends();
    found = askers(await probe.stop());
    return Bun.deepEquals(found, all(server.v4));
  }, PATIENCE_MS).catch(() => {});
  expect(found).toEqual(all(server.v4));
  for (const namespace of [helper, lab.namespaces.gateway]) expect(await iterated(namespace)).toBe(server.v4);
  expect(await boundAsks()).toBe(server.v4);
  await answersForItself();
  expect(await leaks()).toEqual([]);
}

/** What is on its list a resolver answers by itself, whatever the tunnel is. */
async function answersForItself(): Promise<void> {
  const probe = await Probe.start(lab.namespaces.client, blockedQuestions());
  await probe.until(({ answered }) => answered > 0);
  for (const { answer } of await probe.stop())
    expect(decode(Buffer.from(answer, "hex")).answers).toMatchObject([{ data: BLOCKED_ANSWER }]);
}

/** Questions as a resolver asks them that looks names up itself, at the name servers: without "recursion desired". */
async function iterated(namespace: string): Promise<string> {
  const query = encode({ type: "query", id: 3, questions: [{ type: "TXT", name: "whoami.test" }] });
  const target: Target = { protocol: "udp", address: INTERNET.dns4, port: 53, payload: query.toHex() };
  const probe = await Probe.start(namespace, [target]);
  await probe.sends();
  return askers(await probe.stop())[`${INTERNET.dns4} over udp`] ?? "";
}

async function boundAsks(): Promise<string> {
  const probe = await Probe.start(lab.namespaces.gateway, questions([BOUND]).slice(0, 1));
  await probe.sends();
  return askers(await probe.stop())[`${BOUND} over udp`] ?? "";
}

/** Nobody on the internet hears a question. */
async function askedByNobody(): Promise<void> {
  const probe = await asks();
  await probe.sends();
  expect(askers(await probe.stop())).toEqual(all("nobody"));
  for (const namespace of [helper, lab.namespaces.gateway]) expect(await iterated(namespace)).toBe("nobody");
  expect(await boundAsks()).toBe("nobody");
  await answersForItself();
  expect(await leaks()).toEqual([]);
}

test("resolvers on the gateway and on another computer serve the LAN, and ask through the tunnel", () =>
  askedBy(VPN.vpn1));

test("during a switch they ask through either tunnel, and after it through the new one", async () => {
  const probe = await asks();
  await probe.sends();
  for (const server of ["box-vpn-2", "box-vpn-1", "box-vpn-2"]) await connect(server);
  await probe.sends(60, 12);
  for (const outcome of await probe.stop()) {
    const asker = outcome.answered > 0 ? askerIn(outcome.answer) : "nobody";
    expect([VPN.vpn1.v4, VPN.vpn2.v4, "nobody"]).toContain(asker);
  }
  await askedBy(VPN.vpn2);
});

test("while the server is silent, and after a disconnect, nobody hears a question", async () => {
  const cable = (way: "up" | "down") =>
    lab.exec(lab.namespaces.vpn2, ["ip", "link", "set", "dev", "wan0", way]);
  await connect("box-vpn-2");
  await cable("down");
  try {
    const probe = await asks();
    await until(async () => (await state()) === "reconnecting", PATIENCE_MS);
    await probe.stop();
    await askedByNobody();
  } finally {
    await cable("up");
  }
  expect((await gateway.api("POST", "/api/disconnect")).status).toBe(200);
  await askedByNobody();
  await connect("box-vpn-1");
  await askedBy(VPN.vpn1);
});

test("positive control: without the kill switch they ask in clear, and the sniffer sees it of both", async () => {
  await gateway.expose();
  let found = {};
  await until(async () => {
    const probe = await asks();
    await probe.sends();
    found = askers(await probe.stop());
    return Bun.deepEquals(found, all(ROUTER.public4));
  }, PATIENCE_MS).catch(() => {});
  expect(found).toEqual(all(ROUTER.public4));
  for (const asker of ["192.168.88.2", HELPER.v4])
    expect((await leaks()).some((leak) => leak.startsWith(`${asker} > ${INTERNET.dns4} UDP`))).toBe(true);
});
