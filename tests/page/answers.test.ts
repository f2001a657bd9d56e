import { afterAll, beforeEach, expect, test } from "bun:test";
import { join } from "node:path";

type Loaded =
  | { state: "loading" | "failed" }
  | { state: "ready"; value: { active?: boolean; killswitch_active?: boolean; direct_devices?: number } };

/** What the tests use of the page, whose own types need those of the browser. */
interface Page {
  show: (name: string) => () => void;
  refreshAll: () => Promise<boolean>;
  endReads: () => void;
  change: (method: string, path: string) => Promise<unknown>;
  answerOf: (name: string) => { value: Loaded | undefined };
  apply: (event: { type: string; payload: object; stale: readonly string[] }) => void;
  connectedSince: (row: object) => number;
  connection: { value: { name: "live" } | { name: "lost"; since: number } };
}

const FOLDER = join(import.meta.dir, "../../src/dashboard");
const parts = ["answers.ts", "api.ts", "store.ts"].map((file) => import(join(FOLDER, file)));
const page: Page = Object.assign({}, ...(await Promise.all(parts)));
const { connectedSince, show, refreshAll, endReads, change, answerOf, apply, connection } = page;

const PATIENCE_MS = 20_000;
const realFetch = globalThis.fetch;

/** What the page has asked, the oldest first, and what answers it. */
let asked: { path: string; answer: (response: Response) => void }[] = [];

beforeEach(async () => {
  asked = [];
  // A browser that is told to stop may have the answer already.
  globalThis.fetch = ((path: string, { signal }: RequestInit = {}) => {
    const { promise, resolve, reject } = Promise.withResolvers<Response>();
    signal?.addEventListener("abort", () => setTimeout(() => reject(new Error("aborted")), 20));
    asked.push({ path, answer: resolve });
    return promise;
  }) as typeof fetch;
  connection.value = { name: "live" };
  for (const name of ["killswitch", "network"]) answerOf(name).value = undefined;
  await refreshAll();
});
afterAll(() => {
  globalThis.fetch = realFetch;
});

const ok = (active: boolean) =>
  Response.json({ active, wanted: true, layers: [], direct_devices: 0, error: null });
const refused = () => Response.json({ success: false, error: "nft failed" }, { status: 500 });
const shown = () => {
  const killswitch = answerOf("killswitch").value;
  return killswitch?.state === "ready" ? killswitch.value.active : killswitch?.state;
};

async function request(index: number): Promise<(response: Response) => void> {
  const until = Date.now() + PATIENCE_MS;
  while (asked.length <= index && Date.now() < until) await Bun.sleep(1);
  const found = asked[index];
  if (found === undefined) throw new Error("nothing was asked");
  return found.answer;
}

test("an answer that comes after a newer one is not shown, and the newer one is waited for", async () => {
  const hide = show("killswitch");
  const first = await request(0);
  const all = refreshAll();
  const second = await request(1);
  first(ok(true));
  await Bun.sleep(1);
  expect(shown()).toBe("loading");
  second(ok(false));
  expect(await all).toBe(true);
  expect(shown()).toBe(false);
  hide();
});

test("what was asked of a gateway that was lost is given up, and nothing counts as read that it did not answer", async () => {
  const hide = show("killswitch");
  (await request(0))(ok(true));
  while (shown() !== true) await Bun.sleep(1);
  const all = refreshAll();
  await request(1);
  connection.value = { name: "lost", since: 0 };
  endReads();
  expect(await all).toBe(false);
  expect(shown()).toBe(true);
  const again = refreshAll();
  (await request(2))(ok(false));
  expect(await again).toBe(true);
  expect(shown()).toBe(false);
  hide();
});

test("a gateway that is back is read once; what changes during that, once more, and together", async () => {
  const names = ["favourites", "killswitch", "schedules"];
  const hide = names.map((name) => show(name));
  const together = () => Response.json({ favourites: {}, killswitch: {}, schedules: {} });
  (await request(0))(together());
  while (shown() === "loading") await Bun.sleep(1);
  connection.value = { name: "lost", since: 0 };
  const change = { type: "device_update", payload: {}, stale: names.map((name) => `/api/${name}`) };
  // The gateway tells this before all is read.
  for (let times = 0; times < 3; times++) apply(change);
  const all = refreshAll();
  const answer = await request(1);
  for (let times = 0; times < 3; times++) apply(change);
  answer(together());
  expect(await all).toBe(true);
  (await request(2))(together());
  expect(asked.map(({ path }) => path)).toEqual(
    Array(3).fill("/api/page?of=favourites+killswitch+schedules"),
  );
  for (const each of hide) each();
});

test(
  "what the gateway could not say is shown as such, and asked again",
  async () => {
    const hide = show("killswitch");
    (await request(0))(refused());
    while (shown() === "loading") await Bun.sleep(1);
    expect(shown()).toBe("failed");
    (await request(1))(ok(true));
    while (shown() === "failed") await Bun.sleep(1);
    expect(shown()).toBe(true);
    hide();
  },
  PATIENCE_MS,
);

test("after an event, what it has made stale is asked again if it is shown, and forgotten if not", async () => {
  const hide = show("killswitch");
  (await request(0))(ok(true));
  while (shown() !== true) await Bun.sleep(1);
  answerOf("network").value = { state: "failed" };
  apply({ type: "security_alert", payload: {}, stale: ["/api/killswitch", "/api/network", "/api/later"] });
  (await request(1))(ok(false));
  while (shown() !== false) await Bun.sleep(1);
  expect(asked.map(({ path }) => path)).toEqual(["/api/killswitch", "/api/killswitch"]);
  expect(answerOf("network").value).toBeUndefined();
  hide();
});

test("what is shown at the same time is read with one request, before the rest; what is missing there by itself", async () => {
  const hide = ["settings", "schedules", "favourites"].map((name) => show(name));
  const [together, settings] = await Promise.all([request(0), request(1)]);
  expect(asked.map(({ path }) => path)).toEqual(["/api/page?of=favourites+schedules", "/api/settings"]);
  settings(Response.json({}));
  together(Response.json({ favourites: { recent: [] } }));
  (await request(2))(refused());
  expect(asked[2]?.path).toBe("/api/schedules");
  while (answerOf("schedules").value?.state !== "failed") await Bun.sleep(1);
  expect(answerOf("favourites").value).toEqual({ state: "ready", value: { recent: [] } } as never);
  for (const each of hide) each();
});

test("the status has the kill switch that was read last", async () => {
  answerOf("status").value = { state: "ready", value: { killswitch_active: true, direct_devices: 2 } };
  const hide = show("killswitch");
  (await request(0))(ok(false));
  while (shown() !== false) await Bun.sleep(1);
  expect(answerOf("status").value).toEqual({
    state: "ready",
    value: { killswitch_active: false, direct_devices: 0 },
  });
  hide();
});

test("nothing is sent to a gateway that is lost", async () => {
  connection.value = { name: "lost", since: 0 };
  const sending = change("POST", "disconnect");
  expect(sending).rejects.toThrow(
    "The gateway does not answer, so nothing was changed. Try again when it is back.",
  );
  await sending.catch(() => {});
  expect(asked).toEqual([]);
});

test("since when a tunnel is connected does not waver by the whole seconds of its rows", () => {
  const row = (name: string, server: string, uptime_seconds: number) => ({ name, server, uptime_seconds });
  const since = connectedSince(row("main", "se-1", 60));
  expect(connectedSince(row("main", "se-1", 61))).toBe(since);
  expect(connectedSince(row("main", "se-1", 58))).toBe(since);
  expect(connectedSince(row("tv", "se-1", 61))).not.toBe(since);
  expect(connectedSince(row("main", "se-2", 61))).not.toBe(since);
  expect(connectedSince(row("main", "se-2", 5))).toBeGreaterThan(since);
});
