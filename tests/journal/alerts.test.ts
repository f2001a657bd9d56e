import { expect, test } from "bun:test";
import { Bus } from "../../src/base/bus.ts";
import { type AlertEvents, Alerts } from "../../src/journal/alerts.ts";
import { slow } from "../fast.ts";

const kept: string[] = [];
function newAlerts() {
  kept.length = 0;
  const events = new Bus<AlertEvents>((fault) => kept.push(fault));
  const alerts = new Alerts({
    clock: { now: () => 0 },
    log: { warn: (text) => kept.push(text) },
    journal: { add: (entry) => kept.push("message" in entry ? entry.message : "") },
    events,
  });
  return { events, alerts };
}

test("who follows alerts hears those of the start too, each once and in order", () => {
  const { alerts } = newAlerts();
  const heard: string[] = [];
  alerts.raise("list_damaged", { reason: "one" });
  alerts.raise("state_damaged", { what: "other", reason: "two" });
  alerts.follow(({ code, message, at }) => heard.push(`${code} ${message} ${at}`));
  alerts.raise("state_not_saved", { reason: "three" });
  const at = "1970-01-01T00:00:00.000Z";
  expect(heard).toEqual([`list_damaged one ${at}`, `state_damaged two ${at}`, `state_not_saved three ${at}`]);
  expect([alerts.count, alerts.damage]).toEqual([3, "two"]);
});

test("alerts that nobody follows do not pile up", () => {
  const { alerts } = newAlerts();
  for (let number = 0; number < 10_000; number++) alerts.raise("state_not_saved", { reason: `${number}` });
  let heard = 0;
  alerts.follow(() => heard++);
  expect(heard).toBe(100);
});

slow.test(
  "an alert is one short line in the log, in the journal and on the bus, whatever is in its text",
  () => {
    const { alerts, events } = newAlerts();
    events.subscribe("security_alert", ({ payload }) => kept.push(payload.message));
    alerts.raise("backup_restored", { created: `2026\nerror: forged${"x".repeat(900_000)}`, by: "root" });
    const message = `A backup of 2026\\nerror: forged${"x".repeat(969)}…`;
    expect(kept).toEqual([`security_alert backup_restored: ${message}`, message, message]);
  },
);

test("an alert has no key, wherever it is told, though a name or a program's text may", () => {
  const { alerts, events } = newAlerts();
  events.subscribe("security_alert", ({ payload }) => kept.push(JSON.stringify(payload)));
  const key = `${"k".repeat(43)}=`;
  alerts.raise("protection_failed", { what: "refused", reason: `set private-key ${key}` });
  expect(kept).toHaveLength(3);
  for (const text of kept) {
    expect(text).not.toContain(key);
    expect(text).toContain("set private-key (a key)");
  }
});
