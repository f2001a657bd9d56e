import { type Address, isHostName, parseAddress } from "../base/address.ts";
import type { Bus } from "../base/bus.ts";
import { messageOf } from "../base/errors.ts";
import type { Log } from "../base/log.ts";
import { listIn, Saved, type Texts } from "../base/saved.ts";
import type { KillSwitch } from "../killswitch/killswitch.ts";
import { MAIN } from "../killswitch/policy.ts";
import { exitMarkOf } from "../network/slot.ts";
import { MAX_SPEED_RESULTS, SPEED_BOUNDS } from "../shared/bounds.ts";
import type { Host, SpeedPlace } from "../system/host.ts";
import { carries, type Session } from "../tunnel/session.ts";
import type { Tunnel } from "../tunnel/tunnel.ts";
import type { Tunnels } from "../tunnel/tunnels.ts";
import { refused } from "./refusals.ts";
import { type RunningSpeedTest, type SpeedBody, SpeedResult, type SpeedTestList } from "./schema.ts";

const BYTES_PER_MEGABYTE = 1_000_000;
const BITS_PER_BYTE = 8;
/** The owner of what the kill switch permits for a test; never a tunnel's name. */
const OWNER = "a speed test";
const HTTPS_PORT = 443;
/** Each costs a rule of the firewall, and the time until the next is tried. */
const MAX_ADDRESSES = 4;
/** How often the progress of a test is sent. */
const TOLD_EVERY_MS = 1_000;

/** Not in backups: they describe a path at one time and in one place. */
const RESULTS = new Saved<readonly SpeedResult[]>("speed tests", (text) =>
  listIn(SpeedResult)(text).slice(0, MAX_SPEED_RESULTS),
);

interface SpeedEvents {
  /** The test that runs, once a second, and null at its end. */
  speed_update: { running: RunningSpeedTest | null };
}

interface Deps {
  host: Pick<Host, "measureDownload" | "now" | "monotonic">;
  store: Texts;
  log: Pick<Log, "warn">;
  killSwitch: Pick<KillSwitch, "update">;
  tunnels: Pick<Tunnels, "named" | "onTunnel" | "onRemoved">;
  /** The addresses of a name, asked inside the tunnel. */
  lookUp: (name: string, tunnel: string) => Promise<Address[]>;
  events: Pick<Bus<SpeedEvents>, "publish">;
}

interface Running {
  shown: RunningSpeedTest;
  session: Session;
  ending: AbortController;
}

/**
 * Measures how fast a tunnel is, by a download that a person asks for. One runs at a time. Its connection is bound to the
 * tunnel's interface, and ends with the session.
 */
export class SpeedTests {
  private running: Running | null = null;

  constructor(private readonly deps: Deps) {
    const { tunnels } = deps;
    tunnels.onTunnel((tunnel) => tunnel.controller.onChange(() => this.look(tunnel)));
    tunnels.onRemoved((name) => this.endOf(name));
  }

  list(): SpeedTestList {
    return { running: this.running?.shown ?? null, results: [...RESULTS.read(this.deps.store)] };
  }

  /** Resolves to the result, which is kept. An abort of the signal ends the test. */
  async run(asked: SpeedBody, signal: AbortSignal): Promise<SpeedResult> {
    const { host, tunnels } = this.deps;
    const url = urlIn(asked.url);
    if (this.running !== null) throw refused("speed_test_running");
    const tunnel = tunnels.named(asked.tunnel ?? MAIN, "tunnel");
    const session = sessionOf(tunnel);
    const at = new Date(host.now()).toISOString();
    const shown = {
      at,
      tunnel: tunnel.name,
      url: url.origin + url.pathname,
      bytes: 0,
      mbit_per_second: null,
    };
    const running: Running = { shown, session, ending: new AbortController() };
    this.running = running;
    this.tell(shown);
    try {
      const result = await this.measure(running, { ...asked, url: url.href }, signal);
      this.keep(result);
      return result;
    } finally {
      this.running = null;
      this.tell(null);
    }
  }

  private async measure(running: Running, asked: SpeedBody, given: AbortSignal): Promise<SpeedResult> {
    const { host, lookUp } = this.deps;
    const { seconds = SPEED_BOUNDS.seconds.usual, megabytes = SPEED_BOUNDS.megabytes.usual } = asked;
    const { session, ending } = running;
    const { tunnel, at, url } = running.shown;
    const signal = AbortSignal.any([ending.signal, given]);
    const { hostname, host: named } = new URL(asked.url);
    const found = await unlessAborted(signal, lookUp(hostname.replace(/^\[|\]$/g, ""), tunnel));
    const addresses = found.filter((each) => carries(session, each)).slice(0, MAX_ADDRESSES);
    if (addresses.length === 0) throw refused("outside_tunnel", { field: "url", host: named });
    const place = {
      ...{ link: session.link, mark: exitMarkOf(session.mark), addresses, url: asked.url },
      ...{ mostBytes: megabytes * BYTES_PER_MEGABYTE, mostMs: seconds * 1_000 },
    };
    const { bytes, ms } = await this.permitted(running, place, () =>
      host.measureDownload(place, this.told(running), signal),
    );
    const took = { bytes, seconds: Math.round(ms) / 1_000, mbit_per_second: rateOf(bytes, ms) };
    return { at, tunnel, server: session.server.name, url, ...took };
  }

  /** Of the gateway's own traffic, the kill switch lets other tunnels than main have only what it was told of. */
  private async permitted<T>(
    { shown, session }: Running,
    to: SpeedPlace,
    work: () => Promise<T>,
  ): Promise<T> {
    const { killSwitch } = this.deps;
    const port = Number(new URL(to.url).port) || HTTPS_PORT;
    const contacts = to.addresses.map((address) => ({
      tunnel: shown.tunnel,
      protocol: "tcp" as const,
      address,
      port,
      endpoint: session.endpoint,
    }));
    if (shown.tunnel === MAIN) return work();
    try {
      await killSwitch.update(OWNER, { contacts });
      return await work();
    } finally {
      await killSwitch.update(OWNER, null);
    }
  }

  /** What is to be told of a test that runs. */
  private tell(running: RunningSpeedTest | null): void {
    this.deps.events.publish({ type: "speed_update", payload: { running } });
  }

  private told(running: Running): (bytes: number, ms: number) => void {
    let toldAt = this.deps.host.monotonic();
    return (bytes, ms) => {
      running.shown = { ...running.shown, bytes, mbit_per_second: ms === 0 ? null : rateOf(bytes, ms) };
      const now = this.deps.host.monotonic();
      if (now - toldAt < TOLD_EVERY_MS || this.running !== running) return;
      toldAt = now;
      this.tell(running.shown);
    };
  }

  /** A full disk must not cost the answer. */
  private keep(result: SpeedResult): void {
    const { store, log } = this.deps;
    try {
      RESULTS.write(store, [result, ...RESULTS.read(store)].slice(0, MAX_SPEED_RESULTS));
    } catch (error) {
      log.warn(`the result of a speed test is not kept: ${messageOf(error)}`);
    }
  }

  /** A tunnel has another state. */
  private look({ name, controller }: Tunnel): void {
    if (this.running?.shown.tunnel !== name) return;
    const { state } = controller;
    if (state.name !== "connected" || state.session !== this.running.session) this.endOf(name);
  }

  private endOf(tunnel: string): void {
    if (this.running?.shown.tunnel !== tunnel) return;
    this.running.ending.abort(refused("speed_test_ended"));
  }
}

function sessionOf({ name, controller: { state } }: Tunnel): Session {
  if (state.name === "connected") return state.session;
  throw refused("tunnel_down", { name });
}

/** Only what is at the start; what follows a `?` may hold another address. */
const SCHEME = /^[a-z][a-z0-9+.-]*:\/\//i;

function urlIn(text: string): URL {
  const url = URL.parse(SCHEME.test(text) ? text : `https://${text}`);
  if (url?.protocol !== "https:") throw refused("url_invalid");
  if (url.username !== "" || url.password !== "") throw refused("url_with_login");
  const name = url.hostname.replace(/^\[|\]$/g, "");
  if (parseAddress(name) === null && !isHostName(name)) throw refused("url_without_host");
  return url;
}

/** The result of a work that knows of no signal, which nobody waits for after an abort. */
async function unlessAborted<T>(signal: AbortSignal, work: Promise<T>): Promise<T> {
  const { promise, reject } = Promise.withResolvers<never>();
  const stop = () => reject(signal.reason);
  signal.addEventListener("abort", stop, { once: true });
  if (signal.aborted) stop();
  try {
    return await Promise.race([work, promise]);
  } finally {
    signal.removeEventListener("abort", stop);
  }
}

function rateOf(bytes: number, ms: number): number {
  const megabits = (BITS_PER_BYTE * bytes) / (ms * 1_000);
  return Math.round(10 * megabits) / 10;
}
