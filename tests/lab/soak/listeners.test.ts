import { expect, test } from "bun:test";
import type { GatewayEvent } from "../../../src/http/event.ts";
import type { JournalEntry } from "../../../src/journal/schema.ts";
import { unheard } from "./listeners.ts";

type State = "connected" | "reconnecting" | "disconnected";

const entry = (tunnel: string, state: State) =>
  ({ type: "tunnel_state", tunnel, state, server: "", location: "", error: null }) as JournalEntry;
const alert = (message: string) =>
  ({ type: "security_alert", code: "firewall_altered", message }) as JournalEntry;
const row = (name: string, state: State) =>
  ({ type: "tunnel_update", payload: { name, state } }) as GatewayEvent;
const status = (state: State) => ({ type: "status_change", payload: { state } }) as GatewayEvent;
const alarm = (message: string) =>
  ({ type: "security_alert", payload: { code: "firewall_altered", message } }) as GatewayEvent;

test("a socket that heard all, and more, misses nothing", () => {
  const entries = [
    entry("main", "reconnecting"),
    alert("one"),
    entry("tv", "connected"),
    entry("main", "connected"),
  ];
  const heard = [
    ...[alarm("one"), row("main", "reconnecting"), status("reconnecting"), row("tv", "disconnected")],
    ...[row("tv", "connected"), status("connected"), row("main", "connected"), row("main", "connected")],
  ];
  expect(unheard(entries, heard)).toBeNull();
});

test("a change that was not heard, or in another order, is missing", () => {
  const entries = [entry("main", "reconnecting"), entry("main", "connected")];
  const both = [status("reconnecting"), status("connected")];
  expect(unheard(entries, [...both, row("main", "reconnecting")])).toBe("main connected");
  expect(unheard(entries, [...both, row("main", "connected"), row("main", "reconnecting")])).toBe(
    "main connected",
  );
});

test("a change of main is missing if it was heard as a tunnel's only", () => {
  expect(unheard([entry("main", "connected")], [row("main", "connected")])).toBe("status connected");
});

test("an alert that was not heard is missing, and a second one of the same words too", () => {
  expect(unheard([alert("one"), alert("one")], [alarm("one")])).toBe("alert firewall_altered one");
});
