import { afterAll, beforeAll, beforeEach, expect, setDefaultTimeout } from "bun:test";
import { readFileSync } from "node:fs";
import { INTERNET, ROUTER, VPN } from "../../src/sandbox/topology.ts";
import { long } from "../fast.ts";
import { Website } from "../rig/peers/website.ts";
import { createLab, type Gateway, type Lab } from "../rig/tools/lab.ts";
import { until } from "../rig/tools/until.ts";

const { test } = long("the same gateway with another provider");

setDefaultTimeout(120_000);

const SOURCE = "https://internet.test/list";

let lab: Lab;
let website: Website;
let gateway: Gateway;
/** The sandbox's own list, which the website shows. */
let list: string;

beforeAll(async () => {
  lab = await createLab({ cards: 2 });
  list = readFileSync(lab.sandbox.files.managedList, "utf8");
  website = await Website.start(lab);
  const flags = ["--managed-list", SOURCE];
  gateway = await lab.startGateway({ flags, environment: website.environment });
  await gateway.keep();
});
beforeEach(async () => {
  website.show("list", list);
  website.dawdle(0);
  await gateway.reset();
  website.visits();
});
afterAll(async () => {
  await website?.stop();
  await lab?.close();
});

const update = async (...flags: string[]) => {
  const { stdout, stderr } = await gateway.operate("servers", "update", "--json", ...flags);
  return JSON.parse(stdout || JSON.stringify(stderr));
};
/** What most tests begin with: the list was fetched once. */
async function known(): Promise<void> {
  expect(await update()).toEqual({ success: true, changed: true, servers: 2, skipped: 0 });
  website.visits();
}
const connect = (server: string) => gateway.api("POST", "/api/connect", { server });
const exemptions = async () => {
  const inside = (...argv: string[]) => lab.exec(lab.namespaces.gateway, argv);
  const [table, rules] = await Promise.all([inside("nft", "list", "ruleset"), inside("ip", "rule", "show")]);
  return [...table.stdout.split("\n"), ...rules.stdout.split("\n")].filter((line) =>
    /sport 2\d{4}/.test(line),
  );
};

test("without a tunnel only the operator's update leaves, by an exemption of its own", async () => {
  expect((await gateway.api("GET", "/api/servers")).body).toEqual({ servers: {}, provider: "managed" });
  const sniffer = await lab.sniff();
  const [client, own] = await Promise.all([
    lab.traffic(lab.namespaces.client),
    lab.traffic(lab.namespaces.gateway),
  ]);
  website.dawdle(1_500);
  const told = gateway.log().length;
  const updating = update();
  await until(async () => (await exemptions()).length > 0);
  // Another program of the gateway, to the same server and port, during the exemption.
  const other = await lab.exec(lab.namespaces.gateway, [
    "curl",
    "-ksm",
    "1",
    `https://${INTERNET.host4}/list`,
  ]);
  expect(other.code).not.toBe(0);
  expect(await updating).toEqual({ success: true, changed: true, servers: 2, skipped: 0 });
  expect(await exemptions()).toEqual([]);
  await Promise.all([client.stop(), own.stop()]);
  expect(website.visits()).toEqual([{ path: "list", from: ROUTER.public4, etag: null, status: 200 }]);
  const { leaks, missed } = await sniffer.stop();
  expect(missed).toBe(0);
  const port = /from port (\d+)/.exec(gateway.log().slice(told))?.[1];
  const exemption = (frame: string) => frame.includes(`${INTERNET.host4} TCP ${port} > 443`);
  const lookup = (frame: string) => frame.includes(`${ROUTER.lan[2].v4} UDP 2`) && frame.includes(" > 53,");
  expect(leaks.filter(exemption).length).toBeGreaterThan(4);
  expect(leaks.filter((frame) => !exemption(frame) && !lookup(frame))).toEqual([]);
});

test("the list is used, and is there after a restart without anyone to ask", async () => {
  await known();
  website.show("list", "gone");
  await gateway.restart();
  expect(website.visits()).toEqual([]);
  const { servers } = (await gateway.api("GET", "/api/servers")).body;
  expect(Object.keys(servers)).toEqual(["Netherlands", "Sweden"]);
  expect(await connect("box-vpn-1")).toEqual({ status: 200, body: { success: true } });
});

test("with a tunnel the list is updated through it, and nothing leaves outside it", async () => {
  await known();
  expect((await connect("box-vpn-1")).status).toBe(200);
  await gateway.restart();
  const sniffer = await lab.sniff();
  const { servers } = JSON.parse(list);
  website.show("list", JSON.stringify({ servers: servers.slice(0, 1) }));
  expect(await update()).toEqual({ success: true, changed: true, servers: 1, skipped: 0 });
  expect(await update()).toEqual({ success: true, changed: false, servers: 1, skipped: 0 });
  expect(website.visits()).toMatchObject([
    { from: VPN.vpn1.v4, status: 200 },
    { from: VPN.vpn1.v4, status: 304 },
  ]);
  expect((await sniffer.stop()).leaks).toEqual([]);
});

test("the exemption of a service that is killed lets no other program out, and the next start removes it", async () => {
  website.dawdle(20_000);
  const updating = update();
  updating.catch(() => {});
  await until(async () => (await exemptions()).some((line) => line.includes("tcp")));
  await gateway.kill("SIGKILL");
  const traffic = await lab.traffic(lab.namespaces.gateway);
  const sniffer = await lab.sniff();
  await traffic.sends(100);
  await gateway.start();
  expect(await exemptions()).toEqual([]);
  await traffic.stop();
  const own = (frame: string) => / TCP 2\d{4} > 443/.test(frame);
  expect((await sniffer.stop()).leaks.filter((frame) => !own(frame))).toEqual([]);
});

test("without its website the operator hears why, and the list stays", async () => {
  await known();
  await website.stop();
  const { success, error } = await update();
  website = await Website.start(lab);
  expect(success).toBe(false);
  expect(error).toMatch(/^the request to internet\.test failed: /);
  expect(Object.keys((await gateway.api("GET", "/api/servers")).body.servers)).toHaveLength(2);
});
