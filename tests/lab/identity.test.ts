import { afterAll, beforeAll, expect, setDefaultTimeout } from "bun:test";
import type { Device } from "../../src/devices/schema.ts";
import { LAN } from "../../src/sandbox/topology.ts";
import { long } from "../fast.ts";
import { Home } from "../rig/home/home.ts";
import { assign, macOf } from "../rig/judges/changes.ts";
import { told } from "../rig/judges/consistency.ts";
import type { GatewayOptions, Lab } from "../rig/tools/lab.ts";
import type { Progress } from "../rig/tools/sender.ts";
import { until } from "../rig/tools/until.ts";

const { test } = long("each case of what the leaks show in passing");

setDefaultTimeout(300_000);

/** The LAN's second cable: its end at the gateway, and at the device that it leads to. */
const OTHER = { prefix4: "192.168.78", prefix6: "fd78::", link: "lan1" };

let home: Home;
beforeAll(async () => {
  home = await Home.open(3, wire);
  await home.change(assign(1, "second"));
  await home.change(assign(3, "third"));
  await plugOtherCable();
  await home.comesToRest();
});
afterAll(async () => {
  const { wrong, missed } = await home.finish();
  expect([wrong, missed]).toEqual([[], 0]);
  await home.close();
});

async function wire(lab: Lab): Promise<GatewayOptions> {
  const { link, prefix4, prefix6 } = OTHER;
  const lines = [
    `link add ${link} type veth peer name other`,
    `address add ${prefix4}.1/24 dev ${link}`,
    `address add ${prefix6}1/64 dev ${link} nodad`,
    `link set ${link} up`,
  ];
  const { stderr } = await lab.outside(
    ["ip", "-n", lab.namespaces.gateway, "-batch", "-"],
    `${lines.join("\n")}\n`,
  );
  expect(stderr).toBe("");
  return { flags: ["--lan", "lan0,lan1"] };
}

async function ip(namespace: string, ...commands: string[]): Promise<void> {
  const { stderr } = await home.lab.outside(
    ["ip", "-n", namespace, "-batch", "-"],
    `${commands.join("\n")}\n`,
  );
  expect(stderr).toBe("");
}

const inDevice = (device: number, ...commands: string[]) => ip(home.device(device).namespace, ...commands);

/** Device 1 has both cables; the second one is out. */
async function plugOtherCable(): Promise<void> {
  const { namespace } = home.device(1);
  await ip(home.lab.namespaces.gateway, `link set other netns ${namespace} name ${OTHER.link}`);
}

const onThe = async (device: number): Promise<Progress> => home.sender(device).now();

/** Datagrams of both families and queries are answered; connections that began with another address are not. */
function isAnswered({ answered }: Progress, after: number): boolean {
  return answered.u > after && answered.v > after && answered.d > after;
}

/** What is done to a device's identity leaves its packets at `during`, and then only at `place`. */
async function stays(device: number, work: () => Promise<unknown>, place: string, during = [place]) {
  home.judge.rule(device, (await onThe(device)).number, during);
  await work();
  const { number: after } = await onThe(device);
  home.judge.rule(device, after, [place]);
  await home.sender(device).until((progress) => isAnswered(progress, after));
  expect(home.wrong()).toEqual([]);
  expect(home.seen(device, place, after)).toBeGreaterThan(0);
}

async function addressesOf(device: number): Promise<string[]> {
  const { devices } = await told(home.gateway);
  return devices.find(({ id }: Device) => id === macOf(device))?.addresses ?? [];
}

/** Removed first: the kernel removes younger addresses of a prefix together with the oldest. */
const readdress = (from: string, to: string) => () =>
  inDevice(
    1,
    `address del ${from}/24 dev lan0`,
    `address add ${to}/24 dev lan0`,
    `route replace default via ${LAN.gateway4}`,
  );

/** Plugs a device in again; without a cable it has lost its IPv6 address and its routes. */
const plugIn = (device: number) =>
  inDevice(
    device,
    "link set lan0 up",
    `address replace ${home.device(device).v6}/64 dev lan0 nodad`,
    `route replace default via ${LAN.gateway4}`,
    `route replace default via ${LAN.gateway6}`,
  );

test("with another IPv4 address, even one that another device had, and with a new IPv6 address a device keeps its exit", async () => {
  const [one, other] = [home.device(1), home.device(3)];
  const [renewed, temporary] = ["192.168.77.41", "fd77::a1b2:c3d4:e5f6:1"];
  await stays(1, readdress(one.v4, renewed), "box-vpn-2");
  const renew = () =>
    inDevice(
      1,
      `address add ${temporary}/64 dev lan0 nodad`,
      `address change ${one.v6}/64 dev lan0 preferred_lft 0`,
    );
  await stays(1, renew, "box-vpn-2");
  await until(async () => {
    const known = await addressesOf(1);
    return [renewed, temporary].every((address) => known.includes(address));
  });
  await inDevice(3, "link set lan0 down");
  await stays(1, readdress(renewed, other.v4), "box-vpn-2");
  await stays(1, readdress(other.v4, one.v4), "box-vpn-2");
  await stays(3, () => plugIn(3), "custom-1");
});

test("a device with another's MAC address gets that one's exit and no other, and its own again with its own", async () => {
  await inDevice(1, "link set lan0 down");
  const asOther = () => inDevice(3, `link set lan0 address ${macOf(1)}`);
  await stays(3, asOther, "box-vpn-2", ["custom-1", "box-vpn-2"]);
  const asItself = () => inDevice(3, `link set lan0 address ${macOf(3)}`);
  await stays(3, asItself, "custom-1", ["custom-1", "box-vpn-2"]);
  await stays(1, () => plugIn(1), "box-vpn-2");
});

test("a device that moves to another interface of the LAN keeps its exit", async () => {
  const { link, prefix4, prefix6 } = OTHER;
  const move = () =>
    inDevice(
      1,
      `link set ${link} address ${macOf(1)}`,
      `link set ${link} up`,
      `address add ${prefix4}.21/24 dev ${link}`,
      `address add ${prefix6}21/64 dev ${link} nodad`,
      `route replace default via ${prefix4}.1`,
      `route replace default via ${prefix6}1`,
    );
  await inDevice(1, "link set lan0 down");
  await stays(1, move, "box-vpn-2");
  const { devices } = await told(home.gateway);
  expect(devices.find(({ id }) => id === macOf(1))).toMatchObject({ interface: link, exit: "second" });
  const comeBack = async () => {
    await inDevice(1, `link set ${link} down`, `address flush dev ${link}`);
    await plugIn(1);
  };
  await stays(1, comeBack, "box-vpn-2");
});
