import { afterAll, beforeAll, expect, test } from "bun:test";
import { LAN } from "../../../src/sandbox/topology.ts";
import { startStreams, streamed } from "../tools/stream.ts";
import { Phone } from "./phone.ts";
import {
  api,
  arm,
  bootBare,
  clean,
  closeStage,
  connect,
  connectAgain,
  guest,
  healthy,
  lab,
  note,
  openStage,
  PATIENCE_MS,
  read,
  way,
} from "./stage.ts";

/** Below what the emulated machine carries beside other work, in Mbit/s: else the queue is at its processor. */
const LINE = { down: 1, up: 1 };
/** Of the device that wants most. */
const CONNECTIONS = 8;
/** At 1 Mbit/s a connection needs some seconds until it sends as fast as it may. */
const SECONDS = 40;
/** Of one of two devices; one connection of nine has 0.11. An emulated machine beside other work is not exact. */
const NEARLY_EQUAL = { least: 0.28, most: 0.72 };
/** What is on its way when the streams begin and end. */
const TOLERANCE = 1.25;

let phone: Phone;

beforeAll(async () => {
  await openStage();
  phone = await Phone.plugIn(lab);
}, PATIENCE_MS);

afterAll(closeStage, PATIENCE_MS);

test(
  "without rates of the line, a device with eight connections leaves little to one with a single one",
  async () => {
    await bootBare();
    await guest.shell(way.bring);
    await arm();
    await healthy();
    await connect();
    await startStreams(lab);
    await plugIn("192.168.77.60");
    const { share, mbits } = await contest("down");
    note(
      "without rates: share of one connection beside eight; all",
      `${share.toFixed(2)}; ${mbits.toFixed(1)} Mbit/s`,
    );
    expect(share).toBeLessThan(NEARLY_EQUAL.least);
    expect(mbits).toBeGreaterThan(LINE.down * TOLERANCE);
  },
  PATIENCE_MS,
);

test.each(["down", "up"] as const)(
  "with the rates of the line, both devices have the same, %s",
  async (direction) => {
    const sniffer = await lab.sniff();
    await giveRates(LINE);
    expect(await lineCheck()).toMatchObject({ result: "ok" });
    const { share, mbits } = await contest(direction);
    note(`with rates, ${direction}`, `${share.toFixed(2)}; ${mbits.toFixed(1)} Mbit/s`);
    expect(share).toBeGreaterThan(NEARLY_EQUAL.least);
    expect(share).toBeLessThan(NEARLY_EQUAL.most);
    expect(mbits).toBeLessThan(LINE[direction] * TOLERANCE);
    expect(await clean(sniffer)).toEqual([]);
  },
  PATIENCE_MS,
);

test(
  "after a SIGKILL the queues are there, a tunnel that is set up later has one, and the end leaves none",
  async () => {
    await guest.shell("systemctl kill -s KILL portcullis");
    await healthy();
    expect((await lineCheck()).found).toMatch(/on eth1, \S+$/);
    expect(await api("/api/disconnect", {})).toMatchObject({ success: true });
    expect((await lineCheck()).found).toEndWith("on eth1");
    await connectAgain();
    await guest.until("the tunnel's queue", async () => /on eth1, \S+$/.test((await lineCheck()).found));
    await giveRates(null);
    expect(await lineCheck()).toBeUndefined();
    expect(await guest.shell("tc qdisc show")).not.toContain("cake");
  },
  PATIENCE_MS,
);

/** A device at the LAN's cable with this address, which uses the gateway. */
async function plugIn(address: string): Promise<void> {
  for (const words of [`address add ${address}/24 dev lan0`, `route replace default via ${LAN.gateway4}`]) {
    const { code, stderr } = await phone.exec("ip", ...words.split(" "));
    if (code !== 0) throw new Error(stderr);
  }
}

/** What part of all a device with one connection gets beside one with many, and all together in Mbit/s. */
async function contest(direction: "down" | "up"): Promise<{ share: number; mbits: number }> {
  const stream = (namespace: string) => streamed(lab, namespace, direction, SECONDS);
  const many = Array.from({ length: CONNECTIONS }, () => stream(lab.namespaces.client));
  const [one, ...others] = await Promise.all([stream(phone.namespace), ...many]);
  const rate = ({ bytes, ms }: { bytes: number; ms: number }) => (bytes * 8) / 1_000 / ms;
  const all = [one, ...others].reduce((sum, each) => sum + rate(each), 0);
  return { share: rate(one) / all, mbits: all };
}

async function giveRates(line: typeof LINE | null): Promise<void> {
  const body = JSON.stringify({ line });
  const answer = await guest.shell(
    `curl -s -X PUT http://localhost:5000/api/settings -H 'content-type: application/json' --data '${body}'`,
  );
  expect(JSON.parse(answer).line).toEqual(line);
}

async function lineCheck(): Promise<{ result: string; found: string }> {
  // The results are kept for some seconds.
  await Bun.sleep(6_000);
  const { checks } = await read("/api/checks");
  return checks.find(({ id }: { id: string }) => id === "line");
}
