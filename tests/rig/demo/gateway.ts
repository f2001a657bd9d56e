import type { DeviceList } from "../../../src/devices/schema.ts";
import type { EventMessage } from "../../../src/http/event.ts";
import type { TrafficUpdate } from "../../../src/http/traffic.ts";
import type { Status } from "../../../src/tunnel/schema.ts";
import { playedRate } from "../dashboard/played-traffic.ts";
import { BANNER } from "./banner.ts";
import { type Recorded, recordedAt } from "./recorded.ts";

/** Takes the place of the gateway in a page of static files. It runs before the page's own scripts. */

const SECOND_MS = 1_000;
/** So much traffic is there at once, because nobody wants to wait for it. */
const PLAYED_SECONDS = 600;
/** How far apart devices are in what is played. */
const APART_SECONDS = 200;

const opened = Date.now();
const recorded = recordedAt(opened);
const page = recorded.get("/api/page")?.body as Page;

interface Page {
  status: Status;
  devices: DeviceList;
  tunnels: { tunnels: readonly { name: string }[] };
}

const fetchFile = globalThis.fetch;

/** Only what the page itself is made of is really asked for. */
async function answer(input: string, init: RequestInit = {}): Promise<Response> {
  if (init.method !== undefined && init.method !== "GET") return failed(403, "forbidden", BANNER.en);
  // The gateway has its page at the root; a demonstration may be anywhere.
  if (input === "/") return fetchFile("./", init);
  if (!input.startsWith("/api/")) return fetchFile(input, init);
  const found = answerTo(new URL(input, "http://gateway"));
  return found === null
    ? failed(404, "not_found", "this demonstration has no answer to that")
    : Response.json(found.body, { status: found.status });
}

function answerTo({ pathname, search, searchParams }: URL): Recorded | null {
  const exact = recorded.get(decodeURIComponent(`${pathname}${search}`));
  if (exact !== undefined) return exact;
  if (pathname === "/api/page") {
    const names = searchParams.get("of")?.split(" ") ?? [];
    return { status: 200, body: Object.fromEntries(names.map((name) => [name, page[name as keyof Page]])) };
  }
  if (pathname === "/api/history") return historyFor(searchParams);
  return null;
}

/** The time that is asked for is not the one that was recorded. Nothing was carried then. */
function historyFor(asked: URLSearchParams): Recorded {
  const [, history] = [...recorded].find(([path]) => path.startsWith("/api/history?")) ?? [];
  const own = ["from", "to", "resolution"].map((name) => [name, asked.get(name)]);
  return { status: 200, body: { ...(history?.body as object), ...Object.fromEntries(own) } };
}

function failed(status: number, code: string, error: string): Response {
  return Response.json({ success: false, error }, { status, headers: { "Error-Code": code } });
}

/** The devices that use a tunnel, as much as they have carried. */
const carriers = page.devices.devices
  .filter(({ online, exit, quota }) => online && exit !== "blocked" && quota === undefined)
  .map(({ id, exit }, place) => ({ id, exit, place, rx_bytes: 0, tx_bytes: 0 }));

/** The next second to be played; the first is ten minutes before the page was opened. */
let second = 0;

/** All seconds up to now that were not played yet: a page in the background looks seldom. */
function* playedTraffic(): Generator<EventMessage> {
  for (; ; second++) {
    const at = opened + (second - PLAYED_SECONDS) * SECOND_MS;
    if (at > Date.now()) return;
    for (const each of carriers) {
      const rate = playedRate(second + each.place * APART_SECONDS);
      each.rx_bytes += Math.round(rate.rx / (each.place + 1));
      each.tx_bytes += Math.round(rate.tx / (each.place + 1));
    }
    const payload = { at: new Date(at).toISOString(), tunnels: tunnelsNow(), devices: devicesNow() };
    yield { type: "traffic", payload, stale: [] };
  }
}

function devicesNow(): TrafficUpdate["devices"] {
  return carriers.map(({ id, rx_bytes, tx_bytes }) => ({ id, rx_bytes, tx_bytes }));
}

function tunnelsNow(): TrafficUpdate["tunnels"] {
  return page.tunnels.tunnels.map(({ name }) => {
    const own = carriers.filter(({ exit }) => exit === name);
    const sum = (way: "rx_bytes" | "tx_bytes") => own.reduce((before, each) => before + each[way], 0);
    return { name, rx_bytes: sum("rx_bytes"), tx_bytes: sum("tx_bytes") };
  });
}

class PlayedSocket {
  onmessage: ((message: { data: string }) => void) | null = null;
  onclose: (() => void) | null = null;
  private readonly timer = setInterval(() => this.play(), SECOND_MS);

  constructor() {
    // The page begins to listen once it has the socket.
    queueMicrotask(() => {
      this.tell({ type: "status_change", payload: page.status, stale: [] });
      this.play();
    });
  }

  close(): void {
    clearInterval(this.timer);
  }

  private play(): void {
    for (const event of playedTraffic()) this.tell(event);
  }

  private tell(event: EventMessage): void {
    this.onmessage?.({ data: JSON.stringify(event) });
  }
}

Object.assign(globalThis, { fetch: answer, WebSocket: PlayedSocket });
