import { afterAll, beforeAll, beforeEach, expect, setDefaultTimeout, test } from "bun:test";
import { INTERNET } from "../../src/sandbox/topology.ts";
import { long } from "../fast.ts";
import { createLab, type Gateway, type Lab } from "../rig/tools/lab.ts";
import { LanDevice } from "../rig/tools/lan-device.ts";
import { type Carried, startStreams, streamed } from "../rig/tools/stream.ts";
import { until } from "../rig/tools/until.ts";

const further = long("the same for limits that all share or a network has, and after a restart");

const TIMEOUT_MS = 240_000;
setDefaultTimeout(TIMEOUT_MS);

const SECONDS = 5;
/** Without a limit a stream takes all of a processor. */
const FREE_SECONDS = 1;
/** Mbit/s. The lab carries some hundreds. */
const RATE = { down: 4, up: 2 };
/** What a device without a limit has at least: otherwise the machine is too busy to show anything. */
const FREE = 12;

let lab: Lab;
let gateway: Gateway;
let slow: LanDevice;
let other: LanDevice;

beforeAll(async () => {
  lab = await createLab({ cards: 2 });
  [slow, other] = await Promise.all([LanDevice.plugIn(lab, 1), LanDevice.plugIn(lab, 2)]);
  await plugGuests();
  gateway = await lab.startGateway({ flags: ["--lan", `lan0,${GUESTS}`] });
  const { status } = await gateway.api("POST", "/api/connect", { server: "box-vpn-1" });
  expect(status).toBe(200);
  await startStreams(lab);
  await gateway.keep();
});
beforeEach(() => gateway.reset());
afterAll(() => lab?.close());

/** A network on a card of its own, with one computer. */
const GUESTS = "guest0";
const guest = () => ({ namespace: `${lab.sandbox.id}-guest` });

async function plugGuests(): Promise<void> {
  const { namespace } = guest();
  const batch = async (lines: readonly string[], ...where: string[]) =>
    expect(await lab.outside(["ip", ...where, "-batch", "-"], `${lines.join("\n")}\n`)).toMatchObject({
      code: 0,
    });
  await batch([`netns add ${namespace}`]);
  await batch(
    [
      `link add ${GUESTS} type veth peer name lan0 netns ${namespace}`,
      `address add 192.168.20.1/24 dev ${GUESTS}`,
      `link set ${GUESTS} up`,
    ],
    "-n",
    lab.namespaces.gateway,
  );
  const inside = ["link set lo up", "address add 192.168.20.10/24 dev lan0", "link set lan0 up"];
  await batch([...inside, "route add default via 192.168.20.1"], "-n", namespace);
}

const limit = async (rate: typeof RATE | null) =>
  expect((await gateway.api("PUT", `/api/devices/${slow.mac}`, { rate })).status).toBe(200);
const table = async () =>
  (await lab.exec(lab.namespaces.gateway, ["nft", "list", "table", "inet", "portcullis_limits"])).stdout;

const QUOTA_BYTES = 1_000_000;
/** The part of a quota that is payload, at least. */
const LEAST_PAYLOAD = 0.5;
const setQuota = async (quota: unknown) =>
  expect((await gateway.api("PUT", `/api/devices/${slow.mac}`, { quota })).status).toBe(200);
const used = async (): Promise<number> => {
  const { devices } = (await gateway.api("GET", "/api/devices")).body;
  return devices.find(({ id }: { id: string }) => id === slow.mac).quota.used_bytes;
};

/** Megabits a second. */
const rateOf = ({ bytes, ms }: Carried) => (bytes * 8) / 1_000 / ms;

/** What a limit lets through: a second's worth at once, then its rate. */
function isAtMost({ bytes, ms }: Carried, megabits: number): boolean {
  return bytes <= megabits * 125_000 * (ms / 1_000 + 1) + 65_536;
}

/** Whether it lets so much through that it is this limit, and no outage. */
const isNear = (carried: Carried, megabits: number) => rateOf(carried) >= megabits / 2;

type Sender = Pick<LanDevice, "namespace">;

async function bothWays(
  { namespace }: Sender,
  address?: string,
  seconds = SECONDS,
): Promise<[Carried, Carried]> {
  const down = await streamed(lab, namespace, "down", seconds, address);
  return [down, await streamed(lab, namespace, "up", seconds, address)];
}

/** A busy machine carries less for a while, and never more. */
async function isSlow(address?: string, rate = RATE, device: Sender = slow): Promise<void> {
  await until(async () => {
    const [down, up] = await bothWays(device, address);
    expect([isAtMost(down, rate.down), isAtMost(up, rate.up), down, up]).toEqual([true, true, down, up]);
    return isNear(down, rate.down) && isNear(up, rate.up);
  });
}

/** Without a limit, it is fast sooner or later, however busy the machine is. */
async function isFree(device: Sender): Promise<void> {
  await until(async () =>
    (await bothWays(device, undefined, FREE_SECONDS)).map(rateOf).every((rate) => rate > FREE),
  );
}

test("a device has its rate each way, over IPv4 and IPv6, and the one beside it is free", async () => {
  // Positive control.
  await isFree(slow);
  expect(await table()).toBe("");
  await limit(RATE);
  await isSlow();
  await isSlow(INTERNET.host6);
  await until(async () => {
    const [, beside] = await Promise.all([isSlow(), streamed(lab, other.namespace, "down", FREE_SECONDS)]);
    return rateOf(beside) > FREE;
  });
  await limit(null);
  expect(await table()).toBe("");
  await isFree(slow);
});

further.test(
  "a limit outlives the service, and comes back if another program removes the table",
  async () => {
    await limit(RATE);
    await gateway.kill("SIGKILL");
    await isSlow();
    // Positive control.
    await lab.exec(lab.namespaces.gateway, ["nft", "delete", "table", "inet", "portcullis_limits"]);
    await isFree(slow);
    await gateway.restart();
    await until(async () => (await table()).includes(slow.mac));
    await isSlow();
    await lab.exec(lab.namespaces.gateway, ["nft", "flush", "table", "inet", "portcullis_limits"]);
    await until(async () => (await table()).includes("limit name"));
    await isSlow();
  },
);

test("a device is blocked at the byte of its quota, and the one beside it is not", async () => {
  await limit(null);
  const carries = async ({ namespace }: LanDevice, seconds = FREE_SECONDS) =>
    (await streamed(lab, namespace, "down", seconds)).bytes;
  // Positive control.
  expect(await carries(slow)).toBeGreaterThan(2 * QUOTA_BYTES);
  await setQuota({ megabytes: 1, every: "day" });
  const bytes = await carries(slow, SECONDS);
  // Headers and acknowledgements count, too, and packets that are sent again: on a busy machine, a quarter of all.
  expect(bytes).toBeLessThanOrEqual(QUOTA_BYTES);
  expect(bytes).toBeGreaterThan(LEAST_PAYLOAD * QUOTA_BYTES);
  expect(await carries(other)).toBeGreaterThan(2 * QUOTA_BYTES);
  await setQuota(null);
});

const reaches = async ({ namespace }: Sender) =>
  (await lab.exec(namespace, ["ping", "-c", "1", "-W", "2", INTERNET.host4])).code === 0;

further.test("after its quota a device is slower, or is only told of", async () => {
  const quota = { megabytes: 1, every: "day" };
  await setQuota({ ...quota, at_end: "told" });
  for (const carried of await bothWays(slow)) expect(carried.bytes).toBeGreaterThan(2 * QUOTA_BYTES);
  expect(await used()).toBe(QUOTA_BYTES);
  const { events } = (await gateway.api("GET", "/api/events")).body;
  expect(events.filter(({ code }: { code?: string }) => code === "quota_used").length).toBeGreaterThan(0);
  // What was used counts for the other end, too.
  const rate = { down: 0.8, up: 0.4 };
  await setQuota({ ...quota, at_end: rate });
  const beside = async () => (await streamed(lab, other.namespace, "down", SECONDS)).bytes;
  const [, bytes] = await Promise.all([isSlow(INTERNET.host4, rate), beside()]);
  expect(bytes).toBeGreaterThan(2 * QUOTA_BYTES);
  await isSlow(INTERNET.host6, rate);
  await setQuota(null);
});

further.test(
  "everybody else shares a quota, over both families and invented MAC addresses, and a device with its own has that",
  async () => {
    const share = async (quota: unknown) =>
      expect((await gateway.api("PUT", "/api/shared-quota", { quota })).status).toBe(200);
    const own = async (quota: unknown) =>
      expect((await gateway.api("PUT", `/api/devices/${other.mac}`, { quota })).status).toBe(200);
    await limit(null);
    await gateway.api("PUT", `/api/devices/${other.mac}`, { rate: null });
    await own({ megabytes: 1_000, every: "day" });
    // Positive control.
    expect([await reaches(slow), await reaches(other)]).toEqual([true, true]);
    await share({ megabytes: 3, every: "day" });
    const { bytes } = await streamed(lab, slow.namespace, "down", SECONDS, INTERNET.host6);
    expect(bytes).toBeLessThanOrEqual(3 * QUOTA_BYTES);
    expect(bytes).toBeGreaterThan(LEAST_PAYLOAD * 3 * QUOTA_BYTES);
    expect([await reaches(slow), await reaches(other)]).toEqual([false, true]);
    await gateway.kill("SIGKILL");
    expect([await reaches(slow), await reaches(other)]).toEqual([false, true]);
    await gateway.restart();
    expect([await reaches(slow), await reaches(other)]).toEqual([false, true]);
    await lab.exec(lab.namespaces.gateway, ["nft", "delete", "table", "inet", "portcullis_limits"]);
    await until(async () => (await table()).includes(other.mac));
    expect([await reaches(slow), await reaches(other)]).toEqual([false, true]);
    // An invented MAC address gives nothing back.
    const reachesAs = async (mac: string) => {
      for (const [namespace, command] of [
        [slow.namespace, `ip link set lan0 address ${mac}`],
        [lab.namespaces.gateway, `ip neigh flush to ${slow.v4}`],
      ] as const)
        expect((await lab.exec(namespace, command.split(" "))).code).toBe(0);
      return reaches(slow);
    };
    expect(await reachesAs("02:00:00:00:99:99")).toBe(false);
    expect(await reachesAs(slow.mac)).toBe(false);
    // A device that loses its own quota is one of them, and what was used counts for another end.
    await own(null);
    expect(await reaches(other)).toBe(false);
    const rate = { down: 0.8, up: 0.4 };
    await share({ megabytes: 3, every: "day", at_end: rate });
    await isSlow(INTERNET.host4, rate);
    await share(null);
    // Positive controls.
    expect(await reachesAs("02:00:00:00:99:99")).toBe(true);
    expect([await reachesAs(slow.mac), await reaches(other)]).toEqual([true, true]);
  },
);

further.test("everybody else shares a rate, and a device with its own has that", async () => {
  const share = async (rate: typeof RATE | null) =>
    expect((await gateway.api("PUT", "/api/shared-rate", { rate })).status).toBe(200);
  await share(RATE);
  await isSlow();
  const begun = performance.now();
  const both = await Promise.all(
    [slow, other].map(({ namespace }) => streamed(lab, namespace, "down", SECONDS)),
  );
  const bytes = both.reduce((sum, each) => sum + each.bytes, 0);
  // They do not begin and end at the same moment: together they take longer than each.
  const ms = performance.now() - begun;
  expect([isAtMost({ bytes, ms }, RATE.down), isNear({ bytes, ms }, RATE.down), both]).toEqual([
    true,
    true,
    both,
  ]);
  await gateway.api("PUT", `/api/devices/${other.mac}`, { rate: { down: 1_000, up: null } });
  await until(async () => rateOf(await streamed(lab, other.namespace, "down", SECONDS)) > FREE);
  await share(null);
  await isFree(slow);
});

const decide = async (change: object) =>
  expect((await gateway.api("PUT", `/api/networks/${GUESTS}`, change)).status).toBe(200);
const usedByGuests = async (): Promise<number> => {
  const { networks } = (await gateway.api("GET", "/api/networks")).body;
  return networks.find((each: { interface: string }) => each.interface === GUESTS).quota.used_bytes;
};

further.test(
  "a network has its rate, whatever its device has of its own, and the network beside it is free",
  async () => {
    // Positive control.
    await isFree(guest());
    await decide({ rate: RATE });
    await until(async () => {
      const [, beside] = await Promise.all([
        isSlow(INTERNET.host4, RATE, guest()),
        streamed(lab, other.namespace, "down", FREE_SECONDS),
      ]);
      return rateOf(beside) > FREE;
    });
    // Both hold: the lower one shows.
    await limit(RATE);
    await decide({ rate: { down: 1, up: 1 } });
    await isSlow(INTERNET.host4, { down: 1, up: 1 }, guest());
    await isSlow();
    await decide({ rate: null });
    await isFree(guest());
  },
);

further.test(
  "a network is blocked at the byte of its quota, over a kill and a table that is removed, and the one beside it is not",
  async () => {
    const { namespace } = guest();
    const carries = async (at: string, seconds = FREE_SECONDS) =>
      (await streamed(lab, at, "down", seconds)).bytes;
    // Positive control.
    await until(async () => (await carries(namespace)) > 2 * QUOTA_BYTES);
    await decide({ quota: { megabytes: 1, every: "day" } });
    const bytes = await carries(namespace, SECONDS);
    expect(bytes).toBeLessThanOrEqual(QUOTA_BYTES);
    expect(bytes).toBeGreaterThan(LEAST_PAYLOAD * QUOTA_BYTES);
    expect([await usedByGuests(), await reaches(guest()), await reaches(other)]).toEqual([
      QUOTA_BYTES,
      false,
      true,
    ]);
    await until(async () => (await carries(other.namespace)) > 2 * QUOTA_BYTES);
    await gateway.kill("SIGKILL");
    expect([await reaches(guest()), await reaches(other)]).toEqual([false, true]);
    await gateway.restart();
    await lab.exec(lab.namespaces.gateway, ["nft", "delete", "table", "inet", "portcullis_limits"]);
    await until(async () => (await table()).includes("network_quotas"));
    expect([await usedByGuests(), await reaches(guest()), await reaches(other)]).toEqual([
      QUOTA_BYTES,
      false,
      true,
    ]);
    await decide({ quota: null });
    expect(await reaches(guest())).toBe(true);
  },
);

further.test(
  "a schedule blocks a network until its time is over, over a kill too, and the network beside it goes on",
  async () => {
    // Positive control.
    expect([await reaches(guest()), await reaches(other)]).toEqual([true, true]);
    const minutes = { minutes: 1 };
    const body = { network: GUESTS, exit: "blocked", once: minutes };
    expect((await gateway.api("PUT", "/api/schedules/nights", body)).status).toBe(200);
    expect([await reaches(guest()), await reaches(other)]).toEqual([false, true]);
    await gateway.kill("SIGKILL");
    expect([await reaches(guest()), await reaches(other)]).toEqual([false, true]);
    await gateway.restart();
    await until(async () => await reaches(guest()), TIMEOUT_MS);
    expect((await gateway.api("GET", "/api/schedules")).body.schedules).toEqual([]);
  },
);
