import { expect } from "bun:test";
import { rulesetOf } from "../../src/killswitch/ruleset.ts";
import type { Host } from "../../src/system/host.ts";
import { needsNamespaces } from "../fast.ts";
import { until } from "../rig/tools/until.ts";
import { POLICIES } from "./example.ts";
import { inNamespace } from "./namespace.ts";

const PATIENCE_MS = 180_000;
/** On a busy machine. */
const PROGRAM_MS = 60_000;

/** Sends on its connection once it is told to, again and again, and tells what comes of it. */
const SERVER = `
const tell = (what) => { console.log(what); process.exit(); };
require("node:net").createServer((socket) => {
  socket.on("data", () => tell("answered")).on("error", () => tell("ended")).on("close", () => tell("ended"));
  require("node:dgram").createSocket("udp4").on("message", () => setInterval(() => socket.write("more"), 100)).bind(6000, "127.0.0.1");
}).listen(5000, "192.168.20.1");
`;
const DEVICE = `
const ask = () => {
  const socket = require("node:net").connect(5000, "192.168.20.1");
  socket.on("error", () => setTimeout(ask, 50)).on("data", () => socket.write("answer"));
};
ask();
require("node:dgram").createSocket("udp4").on("message", () => process.exit()).bind(6000, "127.0.0.1");
`;
const GO = `
const socket = require("node:dgram").createSocket("udp4");
socket.send("go", 6000, "127.0.0.1", () => process.exit());
`;

/** Without the rule, which is the positive control, the device's answers come in. */
const CASES = [
  ["ends with the rule", "ended", (ruleset: string) => ruleset],
  [
    "goes on without it",
    "answered",
    (ruleset: string) => ruleset.replaceAll(/^.*from before the page was closed.*$/gm, ""),
  ],
] as const;

needsNamespaces.test.each(CASES)(
  "a connection from before a network was closed to the page %s",
  (_, outcome, loaded) =>
    inNamespace((gateway) =>
      inNamespace(async (device) => {
        await cable(gateway, device);
        const server = runs(gateway, SERVER);
        const asking = runs(device, DEVICE);
        const isConnected = async () => (await gateway.run(["ss", "-Htn"])).includes(":5000");
        await until(isConnected);
        await gateway.run(["nft", "-f", "-"], { stdin: loaded(rulesetOf(POLICIES.networks)) });
        await tell(gateway);
        expect((await server).trim()).toBe(outcome);
        await tell(device);
        await asking;
      }),
    ),
  PATIENCE_MS,
);

/** Returns once the program of that machine has been told to go on. */
async function tell(host: Host): Promise<void> {
  await until(async () => (await host.run(["ss", "-Hlun"])).includes(":6000"));
  await runs(host, GO);
}

async function cable(gateway: Host, device: Host): Promise<void> {
  const name = (await device.run(["ip", "netns", "identify"])).trim();
  const batch = (host: Host, lines: string[]) =>
    host.run(["ip", "-batch", "-"], { stdin: `${lines.join("\n")}\n` });
  await batch(gateway, [
    "link set lo up",
    `link add guest0 type veth peer name eth0 netns ${name}`,
    "link set guest0 up",
    "address add 192.168.20.1/24 dev guest0",
  ]);
  await batch(device, ["link set lo up", "link set eth0 up", "address add 192.168.20.5/24 dev eth0"]);
}

function runs(host: Host, program: string): Promise<string> {
  return host.run([process.execPath, "-e", program], { timeoutMs: PROGRAM_MS });
}
