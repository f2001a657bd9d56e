import { afterEach, beforeEach, expect, setDefaultTimeout } from "bun:test";
import { followMessages } from "../../src/http/messages.ts";
import { slow } from "../fast.ts";
import { bearing, SecureHome, TIMEOUT_MS } from "./secure-home.ts";

const { test } = slow;

setDefaultTimeout(TIMEOUT_MS);

const TOKEN = /portcullis_[0-9a-z]{26}/;

let secure: SecureHome;
let phone: string;
beforeEach(async () => {
  secure = await SecureHome.start("write");
  phone = (await secure.home.parts.tokens.add("phone", false)).token;
});
afterEach(() => secure.stop());

const send = (method: string, path: string, body?: object, token = phone) =>
  secure.send(method, path, body, token === "" ? {} : bearing(token));

test("a token is made, shown once, used, listed without its text, and removed", async () => {
  const events: string[] = [];
  followMessages(secure.home.parts.events, (event) => void events.push(JSON.stringify(event)));
  const made = await send("POST", "/api/tokens", { name: "prometheus", read_only: true });
  expect([made.status, made.json, made.headers.get("cache-control")]).toEqual([
    200,
    {
      ...{ name: "prometheus", read_only: true, owner: false, created_at: expect.stringMatching(/^2023-/) },
      token: expect.stringMatching(TOKEN),
    },
    "no-store",
  ]);
  const { token } = made.json;
  expect((await send("GET", "/api/access", undefined, token)).json.token).toEqual({
    name: "prometheus",
    read_only: true,
    owner: false,
  });
  const listed = await send("GET", "/api/tokens");
  expect(listed.json).toEqual({
    auth: "write",
    tokens: [
      { name: "phone", read_only: false, owner: false, created_at: expect.any(String) },
      { name: "prometheus", read_only: true, owner: false, created_at: expect.any(String) },
    ],
  });
  expect((await send("DELETE", "/api/tokens/prometheus")).json).toEqual({ success: true });
  expect((await send("GET", "/api/access", undefined, token)).status).toBe(401);
  const alerts = await secure.alerts();
  expect(alerts).toEqual([
    "The token phone, which may read and change, was made by root.",
    "The token prometheus, which may only read, was made by the token phone.",
    "The token prometheus was removed by the token phone.",
  ]);
  const updates = events.filter((event) => event.includes('"settings_update"'));
  expect(updates.map((event) => JSON.parse(event))).toEqual(
    Array(2).fill({ type: "settings_update", payload: { changed: "tokens" }, stale: ["/api/tokens"] }),
  );
  expect([...secure.home.lines, ...secure.home.faults, ...events, ...alerts].join("\n")).not.toMatch(TOKEN);
});

test("what is wrong is named, and nothing is changed", async () => {
  for (const [body, error] of [
    [{}, "name is required"],
    [{ name: "a/b" }, "name: contains a slash"],
    [{ name: "phone" }, "name: phone exists; remove it first, or choose another name"],
    [{ name: "x", read_only: "yes" }, "read_only must be"],
    [{ name: "x", token: phone }, "unknown field token"],
    [{ name: phone }, "name: looks like a secret"],
  ] as const) {
    const { status, json } = await send("POST", "/api/tokens", body);
    expect([status, json.error]).toEqual([400, expect.stringContaining(error)]);
    expect(json.error).not.toMatch(TOKEN);
  }
  expect((await send("DELETE", "/api/tokens/nobody")).status).toBe(404);
  expect(secure.home.parts.tokens.list()).toHaveLength(1);
});

test("while no token is asked for, nobody makes one for later, or removes one", async () => {
  await secure.stop();
  secure = await SecureHome.start("off");
  await secure.home.parts.tokens.add("phone", false);
  expect((await send("GET", "/api/tokens", undefined, "")).json.tokens).toHaveLength(1);
  for (const [method, path, body] of [
    ["POST", "/api/tokens", { name: "guest" }],
    ["DELETE", "/api/tokens/phone"],
  ] as const) {
    const { status, json } = await send(method, path, body, "");
    expect([status, json.error]).toEqual([403, expect.stringContaining("sudo portcullis token")]);
  }
  expect(secure.home.parts.tokens.list().map(({ name }) => name)).toEqual(["phone"]);
});

test("the last token with full rights can be removed: root makes another", async () => {
  expect((await send("DELETE", "/api/tokens/phone")).status).toBe(200);
  expect((await send("GET", "/api/tokens")).status).toBe(401);
});
