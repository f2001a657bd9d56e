import { afterAll, beforeAll, expect, setDefaultTimeout } from "bun:test";
import { INTERNET, LAN, ROUTER, VPN } from "../../../src/sandbox/topology.ts";
import { long } from "../../fast.ts";
import { CABIN, openCabin } from "../../rig/home/cabin.ts";
import { Doorbell } from "../../rig/peers/visited-port.ts";
import { createLab, type Gateway, type Lab } from "../../rig/tools/lab.ts";
import { PROGRAM } from "../../rig/tools/program.ts";
import { Sniffer } from "../../rig/tools/sniffer.ts";
import { until } from "../../rig/tools/until.ts";

const { test } = long("each case of what one phone shows in passing");

setDefaultTimeout(240_000);

const PORT = 51_820;
/** At home, on the laptop. */
const BELL = 8_080;
/** In the network of the café behind whose router it is. */
const OWN4 = "172.20.4.2";

let lab: Lab;
/** At home, and in the cabin. */
let [home, cabin]: Gateway[] = [];
let device: string;
let bell: Doorbell;
let sniffer: Sniffer;

beforeAll(async () => {
  lab = await createLab({ cards: 2 });
  bell = await Doorbell.start(lab, lab.namespaces.client, BELL);
  home = await lab.startGateway();
  const second = await openCabin(lab, PORT);
  ({ gateway: cabin, device } = second);
  sniffer = await Sniffer.start(second.router, "phone4", {
    endpoints: [{ address: ROUTER.public4, port: PORT }],
    direction: "in",
  });
});

afterAll(async () => {
  bell?.stop();
  await lab?.close();
});

async function ask(gateway: Gateway | undefined, method: string, path: string, body?: unknown) {
  const answer = await gateway?.api(method, path, body);
  expect({ path, status: answer?.status, body: answer?.body }).toMatchObject({ path, status: 200 });
  return answer?.body;
}

const seenAs = () => lab.fetchFrom(device, `http://${INTERNET.host4}/ip`);
const laptop = () => lab.fetchFrom(device, `http://${LAN.client4}:${BELL}/`);

test("another gateway takes the file, and its devices leave by home's exit, reach home, and are cut off with it", async () => {
  await ask(home, "POST", "/api/connect", { server: "box-vpn-1" });
  await ask(home, "PUT", "/api/tunnels/amsterdam", { provider: "managed", server: "box-vpn-2" });
  const on = await home?.operate("remote", "on", "--endpoint", ROUTER.public4, "--port", `${PORT}`);
  expect(on).toMatchObject({ code: 0, stderr: "" });
  const add = [...PROGRAM, "remote", "add", "cabin", "--file", "--url", `http://127.0.0.1:${home?.port}`];
  const { stdout: config, stderr } = await lab.outside(add);
  expect(stderr).toBe("");
  expect(await seenAs()).toBeNull();
  await ask(cabin, "POST", "/api/import", { name: "home", config });
  await ask(cabin, "PUT", "/api/tunnels/main", { provider: "imported", server: "home" });
  expect([await seenAs(), await laptop()]).toEqual([VPN.vpn1.v4, lab.namespaces.client]);
  // Home sees one device.
  expect((await ask(home, "GET", "/api/remote")).devices).toMatchObject([
    { name: "cabin", endpoint: "203.0.113.101" },
  ]);
  await ask(home, "PATCH", "/api/remote/devices/cabin", { exit: "amsterdam" });
  expect(await seenAs()).toBe(VPN.vpn2.v4);
  await ask(home, "DELETE", "/api/remote/devices/cabin");
  expect(await Promise.all([seenAs(), laptop()])).toEqual([null, null]);
  expect((await sniffer.count()).leaks).toEqual([]);
  // Positive control: without the second kill switch and its tunnel, the device leaves from the café.
  await cabin?.expose();
  await lab.exec(`${lab.sandbox.id}-phone4`, ["ip", "link", "del", `${lab.sandbox.id}c0`]);
  await lab.exec(device, ["ping", "-c", "1", "-W", "1", INTERNET.host4]);
  await until(() => sniffer.peek().leaks.some((leak) => leak.includes(`${INTERNET.host4} ICMP`)));
  expect(
    sniffer.peek().leaks.some((leak) => leak.startsWith(`${OWN4} > `) || leak.startsWith(CABIN.device4)),
  ).toBe(true);
  await sniffer.stop();
});
