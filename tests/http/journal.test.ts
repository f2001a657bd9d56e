import { afterAll, beforeAll, expect } from "bun:test";
import { slow } from "../fast.ts";
import { Home } from "./home.ts";

const { test } = slow;

let home: Home;
beforeAll(async () => {
  home = await Home.start();
});
afterAll(() => home.stop());

const events = async (query = "") => {
  const { status, json } = await home.send("GET", `/api/events${query}`);
  return { status, ...json };
};

test("the journal has what the tunnel did, and alerts", async () => {
  await home.connect();
  await home.send("POST", "/api/disconnect");
  home.parts.alerts.raise("firewall_altered", { what: "altered" });
  const { status, events: found, more } = await events();
  expect({ status, more }).toEqual({ status: 200, more: false });
  const tunnel = { type: "tunnel_state", tunnel: "main", error: null };
  const at = expect.stringMatching(/^\d{4}-\d\d-\d\dT/);
  expect(found).toEqual([
    { id: 1, at, ...tunnel, state: "connected", server: "se-1", location: "Stockholm, Sweden" },
    { id: 2, at, ...tunnel, state: "disconnected", server: "", location: "" },
    {
      ...{ id: 3, at, type: "security_alert", code: "firewall_altered", args: { what: "altered" } },
      message: "Another program has altered the firewall's table.",
    },
  ]);
  expect((await events("?since=2")).events.map(({ id }: { id: number }) => id)).toEqual([3]);
  expect(await events("?before=3&limit=1")).toMatchObject({ events: [{ id: 2 }], more: true });
});

test.each(["?since=-1", "?since=1e3", "?limit=0", "?limit=501", "?before=x", "?since=1&other=2"])(
  "a wrong range is refused with the field's name: %s",
  async (query) => {
    const { status, error } = await events(query);
    expect(status).toBe(400);
    expect(error).toContain(/[?&]other/.test(query) ? "other" : (/(\w+)=/.exec(query)?.[1] ?? ""));
  },
);

test("a wrong limit is refused with the range", async () => {
  expect((await events("?limit=0")).error).toBe(
    "limit must be like 20 (how many at most, 1 to 500; 100 if not given)",
  );
});
