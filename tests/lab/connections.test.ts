import { afterAll, beforeAll, beforeEach, expect, setDefaultTimeout } from "bun:test";
import { INTERNET, LAN } from "../../src/sandbox/topology.ts";
import type { Connection } from "../../src/system/host.ts";
import { long } from "../fast.ts";
import { NamespaceHost } from "../namespace-host.ts";
import { createLab, type Gateway, type Lab } from "../rig/tools/lab.ts";
import { LanDevice } from "../rig/tools/lan-device.ts";
import { Line } from "../rig/tools/silent-connection.ts";
import { until } from "../rig/tools/until.ts";

const { test } = long("each case of what other labs show in passing");

/** Connects and moves on a busy machine. */
setDefaultTimeout(240_000);

/** Without being told, a device that only listens waits for ever. */
const TOLD_WITHIN_MS = 20_000;
const PORT = 4_000;
const HOST = [INTERNET.host4, INTERNET.host6];

let lab: Lab;
let gateway: Gateway;
let tv: LanDevice;
let phone: LanDevice;
let server: Line;
const lines: Line[] = [];

beforeAll(async () => {
  lab = await createLab({ cards: 2 });
  [tv, phone] = await Promise.all([LanDevice.plugIn(lab, 1), LanDevice.plugIn(lab, 2)]);
  gateway = await lab.startGateway();
  expect((await gateway.operate("direct", "on")).code).toBe(0);
  await gateway.ask("PUT", "/api/tunnels/second", { provider: "managed", server: "box-vpn-2" });
  await gateway.ask("POST", "/api/connect", { server: "box-vpn-1" });
  for (const { namespace } of [tv, phone])
    for (const address of [LAN.gateway4, LAN.gateway6])
      await lab.exec(namespace, ["ping", "-c", "1", address]);
  await gateway.keep();
  server = Line.listen(lab.namespaces.internet, HOST, PORT);
});

beforeEach(() => gateway.reset());

afterAll(async () => {
  for (const line of [server, ...lines]) line?.stop();
  await lab?.close();
});

/** Connections of both families to a host on the internet. */
async function listening(device: LanDevice): Promise<Line> {
  let line = Line.connect(device.namespace, HOST, PORT);
  lines.push(line);
  // A tunnel may need a moment until it carries both families.
  await until(() => line.count("begun") === 2, 10_000).catch(async () => {
    line.stop();
    line = Line.connect(device.namespace, HOST, PORT);
    lines.push(line);
    await until(() => line.count("begun") === 2, TOLD_WITHIN_MS);
  });
  return line;
}

/** What the kernel tracks of a device's connections to that host. */
async function trackedOf({ v4, v6 }: LanDevice): Promise<Connection[]> {
  const found: Connection[] = [];
  await new NamespaceHost(lab.namespaces.gateway).endConnections((connection) => {
    const { original } = connection;
    if (original.destinationPort === PORT && [v4, v6].includes(original.source)) found.push(connection);
    return false;
  });
  return found;
}

const MOVES = [
  ["main", "second"],
  ["second", "direct"],
  ["direct", "main"],
  ["main", "direct"],
  ["direct", "second"],
  ["second", "blocked"],
  ["main", "blocked"],
  ["direct", "blocked"],
] as const;

test.each(MOVES)(
  "moved from %s to %s, a device that sends nothing is told of the end of its connections, and others keep theirs",
  async (from, to) => {
    await gateway.ask("PUT", `/api/devices/${tv.mac}`, { exit: from });
    await gateway.ask("PUT", `/api/devices/${phone.mac}`, { exit: from });
    const [own, others] = [await listening(tv), await listening(phone)];
    expect((await trackedOf(tv)).length).toBe(2);
    await gateway.ask("PUT", `/api/devices/${tv.mac}`, { exit: to });
    await until(() => own.count("ended") === 2, TOLD_WITHIN_MS);
    expect(await trackedOf(tv)).toEqual([]);
    expect([others.count("ended"), (await trackedOf(phone)).length]).toEqual([0, 2]);
    others.stop();
  },
);

test("a server that goes on sending to a device that was moved to another tunnel is reset", async () => {
  await gateway.ask("PUT", `/api/devices/${tv.mac}`, { exit: "second" });
  // What it has of earlier moves would be reset as well.
  server.stop();
  server = Line.listen(lab.namespaces.internet, HOST, PORT);
  await until(async () => {
    const listed = await lab.exec(lab.namespaces.internet, ["ss", "-ltnH", `sport = :${PORT}`]);
    return listed.stdout.trim().split("\n").length === HOST.length;
  });
  const own = await listening(tv);
  await until(() => server.count("begun") >= 2);
  const ended = server.count("ended");
  await gateway.ask("PUT", `/api/devices/${tv.mac}`, { exit: "main" });
  await until(() => own.count("ended") === 2, TOLD_WITHIN_MS);
  server.speak();
  await until(() => server.count("ended") >= ended + 2, TOLD_WITHIN_MS);
});

test("a tunnel that is switched to another server tells the devices that only listen", async () => {
  for (const { mac } of [tv, phone]) await gateway.ask("PUT", `/api/devices/${mac}`, { exit: "main" });
  // Two tunnels cannot use one server with the same key.
  await gateway.ask("DELETE", "/api/tunnels/second");
  const own = await listening(tv);
  await gateway.ask("POST", "/api/connect", { server: "box-vpn-2" });
  await until(() => own.count("ended") === 2, TOLD_WITHIN_MS);
});
