import { afterAll, beforeAll, expect, setDefaultTimeout } from "bun:test";
import { commandIn } from "../../src/sandbox/namespace.ts";
import { INTERNET, TUNNEL } from "../../src/sandbox/topology.ts";
import { long } from "../fast.ts";
import { Sightings } from "../rig/judges/sightings.ts";
import { createLab, type Gateway, type Lab } from "../rig/tools/lab.ts";
import { LanDevice } from "../rig/tools/lan-device.ts";
import { call } from "../rig/tools/request.ts";

const { test } = long("each case of what the leaks show in passing");

setDefaultTimeout(240_000);

/** In 0.0.0.0/1, not in 10.0.0.0/8. */
const HALF_ONLY = "100.64.9.9";
const DESTINATIONS = [TUNNEL.server4, HALF_ONLY, INTERNET.host4, TUNNEL.server6, INTERNET.host6];

/** Each device's exit, and at which server each destination's packets are seen; null is refused. */
const EXITS: readonly { exit: string; places: readonly (string | null)[] }[] = [
  { exit: "main", places: ["box-vpn-1", "box-vpn-1", "box-vpn-1", "box-vpn-1", "box-vpn-1"] },
  { exit: "second", places: ["box-vpn-2", "box-vpn-2", "box-vpn-2", "box-vpn-2", "box-vpn-2"] },
  { exit: "half", places: ["custom-1", "custom-1", null, "custom-1", null] },
  { exit: "ten", places: ["custom-2", null, null, null, null] },
];

let lab: Lab;
let gateway: Gateway;
const devices: LanDevice[] = [];
beforeAll(async () => {
  lab = await createLab({ cards: 2 });
  gateway = await lab.startGateway();
  const [one, two] = lab.sandbox.servers;
  await ask("POST", "/api/custom/add", {
    ...one.customBody,
    name: "half",
    allowed_ips: "0.0.0.0/1,fd00::/8",
  });
  await ask("POST", "/api/custom/add", { ...two.customBody, name: "ten", allowed_ips: "10.0.0.0/8" });
  await ask("PUT", "/api/tunnels/main", { provider: "managed", server: "box-vpn-1" });
  await ask("PUT", "/api/tunnels/second", { provider: "managed", server: "box-vpn-2" });
  for (const server of ["half", "ten"])
    await ask("PUT", `/api/tunnels/${server}`, { provider: "custom", server });
  for (const [index, { exit }] of EXITS.entries()) {
    const device = await LanDevice.plugIn(lab, index + 1);
    devices.push(device);
    await ask("PUT", `/api/devices/${device.mac}`, { exit });
  }
});
afterAll(() => lab?.close());

async function ask(method: string, path: string, body: unknown): Promise<void> {
  const answer = await call(gateway.port, method, path, body);
  expect({ path, status: answer?.status, body: answer?.body }).toEqual({
    path,
    status: 200,
    body: { success: true },
  });
}

/** Bash opens a UDP socket for it. */
async function send({ namespace }: LanDevice, host: string, text: string): Promise<void> {
  await lab.outside(commandIn(namespace, ["bash", "-c", `printf ${text} >/dev/udp/${host}/7`]));
}

const urlOf = (host: string) => `http://${host.includes(":") ? `[${host}]` : host}:7/`;

test("two servers with the same address inside, and overlapping allowed_ips: each device's packets take its own tunnel, or are refused", async () => {
  const sightings = await Sightings.start(lab);
  const sniffer = await lab.sniff();
  for (const device of devices)
    for (const [index, host] of DESTINATIONS.entries())
      await send(device, host, `m${device.number}u${index}m`);
  await sightings.stop();
  const seen = (device: number) =>
    DESTINATIONS.map((_, index) => {
      const places = sightings.all.filter((each) => each.device === device && each.number === index);
      return [...new Set(places.map(({ place }) => place))].join() || null;
    });
  expect(EXITS.map((_, index) => seen(index + 1))).toEqual(EXITS.map(({ places }) => [...places]));
  for (const [index, device] of devices.entries()) {
    const without = DESTINATIONS.filter((_, each) => EXITS[index]?.places[each] === null);
    for (const host of without)
      expect([host, await lab.isRefused(device.namespace, urlOf(host))]).toEqual([host, true]);
  }
  expect((await sniffer.stop()).leaks).toEqual([]);
});
