import { afterAll, beforeAll, expect, setDefaultTimeout, test } from "bun:test";
import { Home } from "../http/home.ts";
import { run } from "./program.ts";

setDefaultTimeout(240_000);

const TV = "02:00:00:00:00:20";
const MINUTE_MS = 60_000;

let home: Home;
beforeAll(async () => {
  home = await Home.withRealClock();
});
afterAll(() => home.stop());

const cli = (...args: string[]) => run(home.port, ["history", ...args]);
const NO_BAR = "▁";

test("history without any traffic", async () => {
  expect((await cli("--hours", "1")).stdout).toBe(`All tunnels in the last hour:\n${NO_BAR.repeat(60)}\n`);
});

test("history shows who has carried how much, and outages with their cause", async () => {
  const { ring } = home.parts.history;
  const minute = Math.floor(Date.now() / MINUTE_MS);
  ring.add(minute - 90, [{ kind: "tunnel", name: "main", rx: 2_000_000_000, tx: 15_000_000 }]);
  ring.add(minute - 30, [
    { kind: "tunnel", name: "main", rx: 500_000_000, tx: 999 },
    { kind: "device", name: TV, rx: 500_000_000, tx: 900 },
  ]);
  await home.parts.devices.assign(TV, { name: "TV" });
  const change = { type: "tunnel_state", tunnel: "main", server: "se-1", location: "Sweden" } as const;
  home.parts.journal.add({ ...change, state: "reconnecting", error: "no handshake" });
  const { stdout } = await cli();
  const [title, bars, ...rest] = stdout.split("\n");
  expect(title).toBe("All tunnels in the last 24 hours:");
  expect(bars).toMatch(/^▁{50,}█▁+▃▁*$/);
  expect(rest.join("\n")).toMatch(
    /^\nWho {10}Received {2}Sent\nmain tunnel {2}2\.5 GB {4}15\.0 MB\nTV {11}500\.0 MB {2}900 B\n\nsince \d{4}-\d\d-\d\d \d\d:\d\d {2}main tunnel is reconnecting: no handshake\n$/,
  );
  expect((await cli("--device", "tv", "--hours", "2")).stdout).toStartWith(`TV in the last 2 hours:\n`);
  expect(JSON.parse((await cli("--tunnel", "main", "--json")).stdout).tunnels).toEqual([
    { name: "main", rx_bytes: 2_500_000_000, tx_bytes: 15_000_999 },
  ]);
});

test("history refuses hours that are not kept", async () => {
  expect(await cli("--hours", "1465")).toMatchObject({
    code: 2,
    stderr: expect.stringContaining("--hours: must be a number from 1 to 1464"),
  });
});
