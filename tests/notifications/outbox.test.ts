import { expect, test } from "bun:test";
import type { AlertCode } from "../../src/base/alert.ts";
import { IN_ENGLISH, translationIn } from "../../src/base/language.ts";
import type { NotifiedEvent } from "../../src/notifications/event.ts";
import { messageOf } from "../../src/notifications/message.ts";
import { Outbox } from "../../src/notifications/outbox.ts";

const MINUTE_MS = 60_000;
const START = Date.UTC(2026, 0, 2, 3, 10);
const at = (minute: number) => new Date(START + minute * MINUTE_MS).toISOString();

const alert = (code: AlertCode, message: string, minute = 0): NotifiedEvent => ({
  type: "security_alert",
  payload: { code, message, at: at(minute) },
});
const outage = (from: number, to: number | null, more = {}): NotifiedEvent => ({
  type: "outage",
  payload: {
    tunnel: "main",
    from: at(from),
    to: to === null ? null : at(to),
    end: to === null ? null : "connected",
    reason: null,
    ...more,
  },
});

/** What a target that takes everything is sent at that minute, or null. */
function sentAt(outbox: Outbox, minute: number) {
  const now = START + minute * MINUTE_MS;
  const pending = outbox.take(now);
  outbox.putBack();
  if (outbox.take(now).length === 0) return null;
  outbox.confirm(now);
  const { text, level } = messageOf(pending, { hostname: "pi", translate: IN_ENGLISH }, now);
  return `${level}: ${text}`;
}

test("an outage that could not be told while it lasted is told in one sentence", () => {
  const outbox = new Outbox();
  outbox.add(outage(0, null));
  outbox.add(outage(0, 4));
  expect(sentAt(outbox, 4)).toBe("quiet: The main tunnel was down from 3:10 to 3:14.");
  expect(outbox.isEmpty).toBe(true);
});

test("a target that was told of the beginning is told of the end as soon as it comes", () => {
  const outbox = new Outbox();
  outbox.add(outage(0, null, { tunnel: "tv", reason: "the server is silent" }));
  expect(sentAt(outbox, 1)).toBe(
    "normal: The tunnel tv has been down since 3:10: nothing goes through it. Reason: the server is silent.",
  );
  outbox.add(outage(0, 4, { tunnel: "tv", end: "disconnected" }));
  expect(sentAt(outbox, 4)).toBe(
    "quiet: The tunnel tv was down from 3:10 until it was disconnected at 3:14.",
  );
});

test("damage and its repair are one message, as loud as the louder of them", () => {
  const outbox = new Outbox();
  outbox.add(alert("firewall_altered", "The rules were altered."));
  outbox.add(alert("firewall_restored", "The rules are in place again."));
  expect(sentAt(outbox, 0)).toBe("normal: The rules were altered.\nThe rules are in place again.");
});

test("what happens again and again is told at most every 15 minutes, with the first, the last and the number", () => {
  const outbox = new Outbox();
  outbox.add(alert("firewall_altered", "First."));
  expect(sentAt(outbox, 0)).toBe("normal: First.");
  for (let number = 2; number <= 100; number++) outbox.add(alert("firewall_altered", `Number ${number}.`));
  expect(sentAt(outbox, 14)).toBeNull();
  expect(sentAt(outbox, 15)).toBe("normal: 3:10: Number 2.\n(97 more like this)\n3:10: Number 100.");
});

test("other causes do not wait for it, and what waits goes into one message", () => {
  const outbox = new Outbox();
  outbox.add(alert("firewall_altered", "One."));
  expect(sentAt(outbox, 0)).toBe("normal: One.");
  outbox.add(alert("firewall_altered", "Two."));
  outbox.add(alert("list_shrunk", "Three."));
  outbox.add(alert("state_damaged", "Four."));
  expect(sentAt(outbox, 1)).toBe("normal: Three.\nFour.");
});

test("there are at most five messages in an hour, ten if something is urgent, and nothing is lost", () => {
  const outbox = new Outbox();
  const causes: AlertCode[] = [
    "list_shrunk",
    "state_damaged",
    "state_saved",
    "direct_changed",
    "list_damaged",
  ];
  const sent: (string | null)[] = [];
  for (let minute = 0; minute < 60; minute++) {
    outbox.add(alert(causes[minute % causes.length] ?? "state_saved", "Again.", minute));
    sent.push(sentAt(outbox, minute));
  }
  expect(sent.filter((each) => each !== null)).toHaveLength(5);
  outbox.add(alert("other_router", "Urgent.", 59));
  sent.push(sentAt(outbox, 59));
  expect(sent.at(-1)).toStartWith("urgent: ");
  for (let minute = 60; !outbox.isEmpty && minute < 300; minute++) sent.push(sentAt(outbox, minute));
  const told = sent.join("\n").matchAll(/Again\.|\((\d+) more/g);
  expect([...told].reduce((sum, [, more = "1"]) => sum + Number(more), 0)).toBe(60);
});

test("what was not sent is as it was, and what came meanwhile is added to it", () => {
  const outbox = new Outbox();
  outbox.add(outage(0, null, { tunnel: "tv" }));
  outbox.add(alert("firewall_altered", "One."));
  outbox.take(START);
  outbox.add(alert("firewall_restored", "Two."));
  outbox.add(outage(0, 2, { tunnel: "tv" }));
  expect(new Outbox(outbox.kept).kept.pending.map(({ count }) => count)).toEqual([1, 2]);
  outbox.putBack();
  expect(sentAt(outbox, 1)).toBe("normal: The tunnel tv was down from 3:10 to 3:12.\nOne.\nTwo.");
});

test("a restart keeps what is pending and what was told, as JSON", () => {
  const before = new Outbox();
  before.add(alert("firewall_altered", "One."));
  sentAt(before, 0);
  before.add(alert("firewall_altered", "Two."));
  const after = new Outbox(JSON.parse(JSON.stringify(before.kept)));
  expect(sentAt(after, 1)).toBeNull();
  expect(sentAt(after, 15)).toBe("normal: 3:10: Two.");
});

test("a date that is set back does not hold anything up", () => {
  const outbox = new Outbox();
  outbox.add(alert("firewall_altered", "One."));
  sentAt(outbox, 1_000);
  outbox.add(alert("firewall_altered", "Two."));
  expect(sentAt(outbox, 0)).toBe("normal: Two.");
});

test("however much happens, an outbox and its message stay small", () => {
  const outbox = new Outbox();
  const long = "é🙂".repeat(100_000);
  for (let round = 0; round < 3; round++) {
    for (const code of ["firewall_altered", "routing_altered", "direct_changed", "list_damaged"] as const)
      for (let number = 0; number < 50; number++) outbox.add(alert(code, `${long}`));
    for (let number = 0; number < 50; number++) outbox.add(outage(0, 1, { reason: long }));
  }
  expect(JSON.stringify(outbox.kept).length).toBeLessThan(10_000);
  const { text } = messageOf(outbox.take(START), { hostname: "pi", translate: IN_ENGLISH }, START);
  expect(new TextEncoder().encode(text).length).toBeWithin(3_000, 3_600);
  expect(text).not.toContain("\uFFFD");
});

test("a day that is not today is named, and a key that some program printed is not told", () => {
  const [pending] = [new Outbox()].map((outbox) => {
    outbox.add(outage(-60 * 24, 4, { reason: `bad key ${btoa("k".repeat(32))}` }));
    return outbox.take(START);
  });
  expect(
    messageOf(pending ?? [], { hostname: "pi", translate: IN_ENGLISH }, START + 5 * MINUTE_MS).text,
  ).toBe("The main tunnel was down from 3:10 on 2026-01-01 to 3:14. Reason: bad key (a key).");
});

test("tunnels that come and go under other names while the target is down take no more and more room", () => {
  const outbox = new Outbox();
  outbox.add(alert("state_damaged", "The database was damaged."));
  for (let minute = 0; minute < 1_000; minute += 1)
    outbox.add(outage(minute, minute, { tunnel: `t${minute}` }));
  const causes = outbox.kept.pending.map(({ cause }) => cause);
  expect(causes).toEqual(["state", ...Array.from({ length: 20 }, (_, index) => `outage t${980 + index}`)]);
});

const SPEAKER = { hostname: "pi", translate: IN_ENGLISH };
const alertAt = (code: "firewall_altered" | "protection_contested", message: string, args = {}) => ({
  type: "security_alert" as const,
  payload: { code, args, message, at: new Date(START).toISOString() },
});

test("a message is told in the language that was chosen, and its events stay English", async () => {
  const outbox = new Outbox();
  outbox.add(alertAt("firewall_altered", "Another program has altered the table.", { what: "altered" }));
  const pending = outbox.take(START);
  const german = { hostname: "pi", translate: await translationIn("de") };
  const { title, text, events } = messageOf(pending, german, START);
  expect([title, text]).toEqual([
    "Portcullis auf pi",
    "Ein anderes Programm hat die Tabelle der Firewall verändert.",
  ]);
  expect(events.map(({ payload }) => "message" in payload && payload.message)).toEqual([
    "Another program has altered the table.",
  ]);
});

test("what an older version has kept has no arguments, and is told as it is", async () => {
  const { args: _, ...payload } = alertAt("firewall_altered", "Altered.").payload;
  const pending = [{ cause: "firewall", events: [{ type: "security_alert" as const, payload }], count: 1 }];
  const german = { hostname: "pi", translate: await translationIn("de") };
  expect(messageOf(pending, german, START).text).toBe("Altered.");
});

test("what another version has kept with other arguments is told as it is, and not with gaps", async () => {
  const german = { hostname: "pi", translate: await translationIn("de") };
  const args = { what: "up", from: "tv", to: "main" };
  const payload = {
    ...{ code: "exit_moved" as const, args, message: "Moved from tv to main: Ana." },
    at: new Date(START).toISOString(),
  };
  const kept = (more: object) => [
    {
      ...{ cause: "exits in order", count: 1 },
      events: [{ type: "security_alert" as const, payload: { ...payload, args: { ...args, ...more } } }],
    },
  ];
  expect(messageOf(kept({}), german, START).text).toBe("Moved from tv to main: Ana.");
  expect(messageOf(kept({ devices: "Ana", more: 0 }), german, START).text).toContain("Ana");
  expect(messageOf(kept({ devices: "Ana", more: 0 }), german, START).text).toContain("weil");
});

test("what follows from another fault of the message comes after it", () => {
  const outbox = new Outbox();
  outbox.add(alertAt("firewall_altered", "Altered."));
  outbox.add(alertAt("protection_contested", "Undone each time."));
  expect(messageOf(outbox.take(START), SPEAKER, START).text).toBe("Undone each time.\n– Altered.");
});

test("what may follow from several outages is told once, after the last of them", () => {
  const outbox = new Outbox();
  outbox.add(alert("exit_moved", "Moved."));
  for (const tunnel of ["main", "tv"]) outbox.add(outage(0, null, { tunnel }));
  const now = START + 5 * MINUTE_MS;
  const lines = messageOf(outbox.take(now), SPEAKER, now).text.split("\n");
  expect(lines.map((line) => /Moved|main|tv/.exec(line)?.[0])).toEqual(["main", "tv", "Moved"]);
});
