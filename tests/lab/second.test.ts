import { afterAll, beforeAll, beforeEach, expect, setDefaultTimeout } from "bun:test";
import { statSync } from "node:fs";
import { join } from "node:path";
import { CUSTOM_EXAMPLE } from "../../src/http/own-servers.ts";
import { INTERNET, VPN } from "../../src/sandbox/topology.ts";
import { lockFileOf } from "../../src/system/claim.ts";
import { long } from "../fast.ts";
import { createLab, type Gateway, type GatewayOptions, type Lab } from "../rig/tools/lab.ts";
import { until } from "../rig/tools/until.ts";

const { test } = long("the same gateway beside other home routers");

/** Starts of the service, each with a second and a half of waiting for the lock, on a busy machine. */
setDefaultTimeout(120_000);

const DEAD = { ...CUSTOM_EXAMPLE, name: "dead", endpoint: "203.0.113.99:51820" };

let lab: Lab;
let gateway: Gateway;

beforeAll(async () => {
  lab = await createLab({ cards: 2 });
  gateway = await lab.startGateway();
  expect((await connect("box-vpn-1")).status).toBe(200);
  await gateway.keep();
});
beforeEach(() => gateway.reset());
afterAll(() => lab?.close());

const connect = (server: string) => gateway.api("POST", "/api/connect", { server });
const page = () => lab.fetchFrom(lab.namespaces.client, `http://${INTERNET.host4}/`);
const otherState = () => join(lab.sandbox.directory, "other");
const refusal = (what: string) =>
  `the gateway does not become healthy (1):\nportcullis: another portcullis already serves ${what}\n`;

/** All that a gateway has in the kernel, except what counts packets. */
async function kernel(): Promise<string> {
  const commands = [
    ["nft", "list", "table", "inet", "portcullis"],
    ["ip", "rule"],
    ["ip", "-6", "rule"],
    ["ip", "-o", "link"],
    ["ip", "route", "show", "table", "all"],
  ];
  const read = await Promise.all(commands.map((argv) => lab.exec(lab.namespaces.gateway, argv)));
  return read.map(({ stdout }) => stdout).join("\n");
}

interface Second {
  title: string;
  options: () => GatewayOptions;
  says: () => string;
}

const SECONDS: readonly Second[] = [
  { title: "on the same state directory", options: () => ({}), says: () => "this network; stop it first" },
  {
    title: "with a state directory and an interface of its own",
    options: () => ({ flags: ["--state-dir", otherState(), "--interface", `${lab.sandbox.interface}x`] }),
    says: () => "this network; stop it first",
  },
  {
    title: "on the same state directory, for another network namespace",
    options: () => ({ namespace: lab.namespaces.client }),
    says: () => `${join(lab.sandbox.directory, "state")}; stop it first, or give --state-dir`,
  },
];

for (const { title, options, says } of SECONDS) {
  test(`a second service ${title} ends with one line, and a connected gateway loses nothing`, async () => {
    const before = await kernel();
    const traffic = await lab.traffic(lab.namespaces.client, { kinds: ["udp", "flow"] });
    await expect(lab.startGateway(options())).rejects.toThrow(refusal(says()));
    const { udp, flow } = await traffic.stop();
    expect([udp?.lost, flow?.lost]).toEqual([[], []]);
    expect(udp?.sent).toBeGreaterThan(100);
    expect(await kernel()).toBe(before);
  });
}

test("a second service does not disturb what the first is dialling", async () => {
  expect((await gateway.api("POST", "/api/custom/add", DEAD)).status).toBe(200);
  expect((await gateway.api("POST", "/api/provider/custom")).status).toBe(200);
  const traffic = await lab.traffic(lab.namespaces.client, { kinds: ["udp", "flow"] });
  const dialling = connect("dead");
  await until(async () => (await kernel()).includes("203.0.113.99"));
  const before = await kernel();
  await expect(lab.startGateway({ flags: ["--state-dir", otherState()] })).rejects.toThrow(
    refusal("this network; stop it first"),
  );
  expect(await kernel()).toBe(before);
  expect((await dialling).status).toBe(500);
  const { udp, flow } = await traffic.stop();
  expect([udp?.lost, flow?.lost]).toEqual([[], []]);
  expect(await page()).toContain(VPN.vpn1.v4);
});

test("without a service that answers, the kill switch is not switched while another process has the network", async () => {
  await gateway.kill("SIGTERM");
  const before = await kernel();
  const lock = lockFileOf(statSync(`/run/netns/${lab.namespaces.gateway}`).ino);
  // Without a fork, so that the lock ends with the process.
  const holder = Bun.spawn(["flock", "-F", lock, "sh", "-c", "echo held; exec sleep 60"], {
    stdout: "pipe",
  });
  await holder.stdout.getReader().read();
  const off = () => gateway.operate("killswitch", "off");
  expect(await off()).toEqual({
    code: 1,
    stdout: "",
    stderr: "portcullis: another portcullis already serves this network; stop it first\n",
  });
  expect(await kernel()).toBe(before);
  holder.kill("SIGKILL");
  await holder.exited;
});

test("of two that start at once one serves, and after its SIGKILL the next one starts, tunnel and all", async () => {
  await gateway.kill("SIGKILL");
  const [one, two] = await Promise.allSettled([lab.startGateway(), lab.startGateway()]);
  const started = [one, two].filter((each) => each.status === "fulfilled").map(({ value }) => value);
  const refused = [one, two].filter((each) => each.status === "rejected").map(({ reason }) => reason.message);
  expect(refused).toEqual([refusal("this network; stop it first")]);
  expect(await page()).toContain(VPN.vpn1.v4);
  await started[0]?.kill("SIGKILL");
  await gateway.start();
  expect(await page()).toContain(VPN.vpn1.v4);
  expect((await gateway.api("GET", "/api/status")).body.state).toBe("connected");
});
