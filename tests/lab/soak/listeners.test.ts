import { expect, test } from "bun:test";
import type { GatewayEvent } from "../../../src/http/event.ts";
import type { JournalEntry } from "../../../src/journal/schema.ts";
import { Listeners, unheard } from "../../rig/soak/listeners.ts";
import { until } from "../../rig/tools/until.ts";

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

test("a socket that the service closes is a fault if it has lived, and is opened again", async () => {
  const open = new Set<Bun.ServerWebSocket<undefined>>();
  const server = Bun.serve({
    hostname: "127.0.0.1",
    port: 0,
    fetch: (request, own) => (own.upgrade(request) ? undefined : Response.json({ events: [] })),
    websocket: {
      open: (socket) => {
        open.add(socket);
        socket.send(JSON.stringify(status("connected")));
      },
      message: () => {},
      close: (socket) => void open.delete(socket),
    },
  });
  const listeners = new Listeners(server.port ?? 0, 2);
  const closeOne = async () => {
    const { closed } = listeners;
    for (const socket of [...open].slice(0, 1)) socket.close();
    await until(() => listeners.closed > closed);
  };
  expect(await listeners.settle(true)).toEqual([]);
  await closeOne();
  expect(await listeners.settle(false)).toEqual([]);
  await closeOne();
  expect(await listeners.settle(true)).toEqual(["a WebSocket was closed"]);
  expect(await listeners.settle(true)).toEqual([]);
  expect([listeners.heard, open.size]).toEqual([4, 2]);
  listeners.stop();
  await server.stop(true);
});
