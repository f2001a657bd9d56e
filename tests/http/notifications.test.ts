import { afterEach, beforeEach, expect, setDefaultTimeout } from "bun:test";
import { followMessages } from "../../src/http/messages.ts";
import type { PinnedRequest } from "../../src/system/host.ts";
import { slow } from "../fast.ts";
import { SecureHome, TIMEOUT_MS } from "./secure-home.ts";

const { test } = slow;

setDefaultTimeout(TIMEOUT_MS);

const PATH = "/api/notifications";
const GOTIFY = { name: "phone", address: "http://192.168.7.5/message?token=GOTIFYSECRET" };
const NTFY = { name: "tablet", address: "ntfy://:tk_NTFYSECRET@ntfy.sh/TopicSecret" };
const SECRETS = /GOTIFYSECRET|NTFYSECRET|TopicSecret/;

let secure: SecureHome;
let ending: AbortController;
let sent: { url: string; body: string }[];
beforeEach(async () => {
  secure = await SecureHome.start();
  ending = new AbortController();
  sent = [];
  secure.home.host.https = async ({ url, body = "" }: PinnedRequest) => {
    sent.push({ url, body });
    return { status: 200, headers: {}, body: "" };
  };
  const { notifications, alerts } = secure.home.parts;
  await notifications.start(ending.signal);
  alerts.follow((payload) => notifications.tell({ type: "security_alert", payload }));
});
afterEach(async () => {
  ending.abort();
  await secure.stop();
});

const send = (method: string, path: string, body?: object) => secure.send(method, path, body);

test("an address is added, tested, told of what happens, listed without its secret, and removed", async () => {
  const events: string[] = [];
  followMessages(secure.home.parts.events, (event) => void events.push(JSON.stringify(event)));
  const added = await send("POST", PATH, GOTIFY);
  const shown = { name: "phone", target: "gotify at 192.168.7.5", waiting: 0, error: null };
  expect([added.status, added.json]).toEqual([200, shown]);
  expect((await send("POST", `${PATH}/test`)).json).toEqual({
    targets: [{ target: "phone (gotify at 192.168.7.5)", sent: true, error: null }],
  });
  expect(JSON.parse(sent[0]?.body ?? "").message).toContain("This is a test");
  await secure.home.pass(11_000);
  expect(sent.at(-1)?.body).toContain(
    "Notifications go to phone too (gotify at 192.168.7.5), added by 127.0.0.1.",
  );
  expect((await send("GET", PATH)).json).toEqual({ targets: [shown] });
  expect((await send("DELETE", `${PATH}/phone`)).json).toEqual({ success: true });
  expect((await send("GET", PATH)).json).toEqual({ targets: [] });
  const before = sent.length;
  secure.home.parts.alerts.raise("firewall_altered", { what: "altered" });
  await secure.home.pass(60_000);
  expect(sent.length).toBe(before);
  const alerts = await secure.alerts();
  expect(alerts).toContain(
    "Notifications go to phone no longer (gotify at 192.168.7.5), removed by 127.0.0.1.",
  );
  expect(events.filter((event) => event.includes('"settings_update"'))).toHaveLength(2);
  expect([...secure.home.lines, ...secure.home.faults, ...events, ...alerts].join("\n")).not.toMatch(SECRETS);
});

test("what could not be sent is said, and waits", async () => {
  await send("POST", PATH, NTFY);
  await secure.home.pass(30_000);
  expect((await send("GET", PATH)).json.targets).toEqual([
    { name: "tablet", target: "ntfy at ntfy.sh", waiting: 1, error: null },
  ]);
  await send("POST", PATH, GOTIFY);
  secure.home.host.https = async () => ({ status: 401, headers: {}, body: "" });
  await secure.home.pass(30_000);
  expect((await send("GET", PATH)).json.targets[1]).toMatchObject({
    name: "phone",
    error: "it answered 401",
  });
});

test("what is wrong is named, no address is repeated, and nothing is changed", async () => {
  await send("POST", PATH, GOTIFY);
  for (const [body, error] of [
    [{ name: "x" }, "address is required"],
    [{ ...NTFY, name: "" }, "name: must have 1 to 64 characters"],
    [{ ...NTFY, name: "phone" }, "name: phone exists"],
    [{ ...GOTIFY, name: "x" }, "address: notifications go there already"],
    [{ name: "x", address: "TopicSecret" }, "address: it must begin with ntfy://"],
    [{ name: "x", address: "http://127.0.0.1:9/TopicSecret" }, "address: it is this machine"],
    [{ name: "x", address: "http://[::1]:9/TopicSecret" }, "address: it is this machine"],
    [{ name: "x", address: "https://localhost:9/TopicSecret" }, "address: it is this machine"],
    [{ name: "x", address: "https://a.LocalHost./TopicSecret" }, "address: it is this machine"],
    [{ name: "x", address: `ntfy://ntfy.sh/${"a".repeat(2_048)}` }, "address must be"],
  ] as const) {
    const { status, json } = await send("POST", PATH, body);
    expect([status, json.error]).toEqual([400, expect.stringContaining(error)]);
    expect(json.error).not.toMatch(SECRETS);
  }
  expect((await send("GET", PATH)).json.targets).toHaveLength(1);
  expect((await send("DELETE", `${PATH}/nobody`)).status).toBe(404);
  for (let count = 1; count < 20; count += 1)
    expect((await send("POST", PATH, { name: `${count}`, address: `ntfy://ntfy.sh/t${count}` })).status).toBe(
      200,
    );
  expect((await send("POST", PATH, { name: "20", address: "ntfy://ntfy.sh/t20" })).json.error).toBe(
    "there are 20 addresses, the maximum; remove one first",
  );
});
