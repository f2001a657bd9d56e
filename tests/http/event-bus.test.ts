import { expect, test } from "bun:test";
import { EventBus } from "../../src/http/event-bus.ts";

const bus = () => new EventBus({ now: () => 0 }, { warn: () => {} }, { add: () => {} });

test("who is told of alerts hears those of the start too, each once and in order, and no other event", () => {
  const events = bus();
  const heard: string[] = [];
  events.alarm("list_damaged", "one");
  events.alarm("state_damaged", "two");
  events.onAlert(({ code, message, at }) => heard.push(`${code} ${message} ${at}`));
  events.alarm("firewall_altered", "three");
  events.publish({ type: "tunnel_removed", payload: { name: "tv" } });
  const at = "1970-01-01T00:00:00.000Z";
  expect(heard).toEqual([
    `list_damaged one ${at}`,
    `state_damaged two ${at}`,
    `firewall_altered three ${at}`,
  ]);
  // Nothing has to be read for it.
  expect(events.hasListeners).toBe(false);
});

test("alerts that nobody is told of do not pile up", () => {
  const events = bus();
  for (let number = 0; number < 10_000; number++) events.alarm("firewall_altered", `${number}`);
  let heard = 0;
  events.onAlert(() => heard++);
  expect(heard).toBe(100);
});

test("an alert is one short line in the journal, in the log and on sockets, whatever is in its text", () => {
  const kept: string[] = [];
  const events = new EventBus(
    { now: () => 0 },
    { warn: (text) => kept.push(text) },
    { add: (entry) => kept.push("message" in entry ? entry.message : "") },
  );
  events.subscribe(({ payload }) => kept.push("message" in payload ? payload.message : ""));
  events.alarm("backup_restored", `A backup of 2026\nerror: forged${"x".repeat(900_000)}`);
  const message = `A backup of 2026\\nerror: forged${"x".repeat(969)}…`;
  expect(kept).toEqual([`security_alert backup_restored: ${message}`, message, message]);
});
