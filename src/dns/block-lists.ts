import type { AlertArgs } from "../base/alert-rows.ts";
import { nextBeat } from "../base/beat.ts";
import type { Bus } from "../base/bus.ts";
import { GatewayError, messageOf } from "../base/errors.ts";
import type { Log } from "../base/log.ts";
import { type Reason, reasonOf } from "../base/reason.ts";
import type { Texts } from "../base/saved.ts";
import type { DeviceId } from "../devices/id.ts";
import type { Host, HttpsAnswer, Send } from "../system/host.ts";
import { isDohName } from "./doh-names.ts";
import type { DnsEvents } from "./events.ts";
import { type KeptList, KeptLists } from "./kept-list.ts";
import { ListNames } from "./list-names.ts";
import { refused } from "./refusals.ts";
import type { DnsLists, DnsListsBody } from "./schema.ts";
import { DNS_LISTS, isBlocking, type WantedList, type WantedLists, wantedLists } from "./wanted-lists.ts";

/** Lists change once a day. */
const REFRESH_EVERY_MS = 24 * 3_600_000;
const TRY_AGAIN_MS = 1_800_000;
const LOOK_EVERY_MS = 6_000;
const DEFAULT_PAUSE_MINUTES = 5;
const MINUTE_MS = 60_000;
/** Answers that say where else it is (RFC 9110, section 15.4), and how many of them are followed. */
const MOVED: ReadonlySet<number> = new Set([301, 302, 303, 307, 308]);
const MAX_MOVES = 3;

interface Deps {
  host: Pick<Host, "now" | "monotonic" | "sleep">;
  store: Texts;
  stateDir: string;
  /** Through the tunnel, and never outside it. */
  send: Send;
  isConnected: () => boolean;
  /** Called when a list has become much shorter, which is not taken. */
  onShrunk: (lists: AlertArgs<"list_shrunk">) => void;
  events: Pick<Bus<DnsEvents>, "publish" | "published">;
  log: Pick<Log, "info" | "warn">;
}

/** What is known of one list. */
interface Loaded {
  kept: KeptList | null;
  fault: Reason | null;
  /** When it is to be fetched next, on the monotonic clock. */
  dueAt: number;
}

/** Lists of names that are blocked, for all devices or for some. */
export class BlockLists {
  private wanted: WantedLists;
  private readonly loaded = new Map<string, Loaded>();
  private readonly kept: KeptLists;
  /** On the monotonic clock. */
  private pausedUntil = 0;

  constructor(private readonly deps: Deps) {
    this.wanted = wantedLists(DNS_LISTS.read(deps.store));
    this.kept = new KeptLists(deps.stateDir);
  }

  get isUsed(): boolean {
    return isBlocking(this.wanted);
  }

  /** Whether there is any list, even if none is on. */
  get isThere(): boolean {
    return this.wanted.blockDoh || this.wanted.lists.length > 0;
  }

  /** How many names there are in all lists. */
  get size(): number {
    return [...this.loaded.values()].reduce((sum, { kept }) => sum + (kept?.names.size ?? 0), 0);
  }

  /** Milliseconds since 1970; null while the lists block. */
  get pausedUntilTime(): number | null {
    const left = this.pausedUntil - this.deps.host.monotonic();
    return left > 0 ? this.deps.host.now() + left : null;
  }

  /** The same in ISO 8601. */
  get pausedUntilText(): string | null {
    const until = this.pausedUntilTime;
    return until === null ? null : new Date(until).toISOString();
  }

  /**
   * Whether a list blocks, for the device, the name that it asks for or one of those that it leads to, which follow in
   * their order. Behind one that is open, all are.
   */
  blocks(names: readonly string[], device: DeviceId): boolean {
    const { lists, exceptions, blockDoh } = this.wanted;
    if (!this.isThere || this.pausedUntil > this.deps.host.monotonic()) return false;
    const open = names.findIndex((name) => isBelow(name, exceptions));
    const closed = open < 0 ? names : names.slice(0, open);
    if (blockDoh && closed.some(isDohName)) return true;
    return lists.some(({ url, devices, on }) => {
      const list = this.loaded.get(url)?.kept?.names;
      if (!on || list === undefined || (devices.length > 0 && !devices.includes(device))) return false;
      return closed.map((name) => list.verdictOn(name)).find((verdict) => verdict !== null) === "block";
    });
  }

  /** Whether a person has decided that the name may have addresses of the home. */
  mayLeadHome(name: string): boolean {
    return isBelow(name, this.wanted.privateNames);
  }

  /** For `minutes`, no list blocks; 0 ends that. */
  pause(minutes = DEFAULT_PAUSE_MINUTES): void {
    this.pausedUntil = this.deps.host.monotonic() + minutes * MINUTE_MS;
    this.tell();
  }

  /** Replaces all lists and exceptions. Throws `bad_request`; then nothing has changed. */
  async put(body: DnsListsBody): Promise<void> {
    // A client that does not know these leaves them as they are, and an earlier version that reads this knows none.
    const { block_doh: blockDoh = this.wanted.blockDoh, private_names: given, ...rest } = body;
    const privateNames = given ?? [...this.wanted.privateNames];
    const whole = {
      ...{ ...rest, ...(blockDoh && { block_doh: true }) },
      ...(privateNames.length > 0 && { private_names: privateNames }),
    };
    const wanted = wantedLists(whole);
    DNS_LISTS.write(this.deps.store, whole);
    await this.use(wanted);
  }

  /** Turns one of them on or off. Throws `not_found` if there is none of this address. */
  async turn(url: string, on: boolean): Promise<void> {
    const { lists, exceptions, blockDoh } = this.wanted;
    if (!lists.some((each) => each.url === url)) throw refused("block_list_unknown");
    await this.put({
      lists: lists.map(({ devices, ...each }) => ({
        ...{ ...each, devices: [...devices] },
        ...(each.url === url && { on }),
      })),
      exceptions: [...exceptions],
      block_doh: blockDoh,
    });
  }

  /** Reads them again, after another writer has changed the database. */
  reload(): Promise<void> {
    return this.use(wantedLists(DNS_LISTS.read(this.deps.store)));
  }

  private async use(wanted: WantedLists): Promise<void> {
    this.wanted = wanted;
    const urls = wanted.lists.map(({ url }) => url);
    for (const url of this.loaded.keys()) if (!urls.includes(url)) this.loaded.delete(url);
    this.kept.removeOthers(urls);
    // If that fails, the resolver tries it again soon.
    await this.deps.events.published({ type: "lookups_changed", payload: null });
    this.tell();
  }

  list(): DnsLists {
    const { lists, exceptions, privateNames, blockDoh } = this.wanted;
    return {
      lists: lists.map(({ url, devices, on }) => {
        const { kept = null, fault = null } = this.loaded.get(url) ?? {};
        return {
          ...{ url, devices: [...devices], on, names: kept?.names.size ?? 0 },
          ...(fault ?? { error: null }),
          skipped: kept?.skipped ?? 0,
          fetched_at: kept?.fetched ? new Date(kept.fetched).toISOString() : null,
        };
      }),
      exceptions: [...exceptions],
      private_names: [...privateNames],
      block_doh: blockDoh,
    };
  }

  /** Keeps the lists up to date, one after the other, until `signal` aborts. */
  async watch(signal: AbortSignal): Promise<void> {
    while (!signal.aborted) {
      for (const list of this.wanted.lists) if (list.on) await this.keepFresh(list);
      await nextBeat(this.deps.host, LOOK_EVERY_MS, signal);
    }
  }

  private tell(): void {
    this.deps.events.publish({ type: "dns_changed", payload: null });
  }

  private async keepFresh({ url }: WantedList): Promise<void> {
    const { host } = this.deps;
    const known = this.loaded.get(url) ?? (await this.fromDisk(url));
    this.loaded.set(url, known);
    if (host.monotonic() < known.dueAt || !this.deps.isConnected()) return;
    try {
      known.kept = await this.fetch(url, known.kept);
      known.fault = null;
      known.dueAt = host.monotonic() + REFRESH_EVERY_MS;
    } catch (error) {
      known.fault = reasonOf(error);
      known.dueAt = host.monotonic() + TRY_AGAIN_MS;
      if (error instanceof Shrunk) this.deps.onShrunk(error.alert);
      else this.deps.log.warn(`the list ${new URL(url).host}: ${known.fault.error}`);
    }
    this.tell();
  }

  private async fromDisk(url: string): Promise<Loaded> {
    const kept = await this.kept.read(url).catch(() => null);
    const age = kept?.fetched ? this.deps.host.now() - kept.fetched : REFRESH_EVERY_MS;
    const left = age < 0 ? TRY_AGAIN_MS : Math.max(0, REFRESH_EVERY_MS - age);
    return { kept, fault: null, dueAt: this.deps.host.monotonic() + left };
  }

  private async fetch(url: string, former: KeptList | null): Promise<KeptList> {
    const { host, log } = this.deps;
    const answer = await this.get(url, former?.etag ?? "");
    const fetched = host.now();
    if (answer.status === 304 && former !== null) return this.keep(url, { ...former, fetched });
    if (answer.status !== 200) throw refused("block_list_status", { status: answer.status });
    const reading = { skipped: 0 };
    const names = await ListNames.from(answer.body, reading);
    if (names.size === 0) throw refused("block_list_empty");
    if (former !== null && former.fetched > 0 && names.size < former.names.size / 2)
      throw new Shrunk(new URL(url).host, { names: names.size, former: former.names.size });
    const { skipped } = reading;
    log.info(`the list ${new URL(url).host} has ${names.size} names; ${skipped} lines were not understood`);
    return this.keep(url, { names, skipped, etag: answer.headers.etag ?? "", fetched });
  }

  /** Follows a list that has moved, as long as nobody on the way there could change it. */
  private async get(first: string, etag: string): Promise<HttpsAnswer> {
    const headers = { Accept: "text/plain", ...(etag !== "" && { "If-None-Match": etag }) };
    let url = first;
    for (let moves = 0; ; moves += 1) {
      const answer = await this.deps.send({ url, method: "GET", headers });
      const { location } = answer.headers;
      if (!MOVED.has(answer.status) || location === undefined) return answer;
      if (moves === MAX_MOVES) throw refused("block_list_moves", { max: MAX_MOVES });
      const next = URL.parse(location, url);
      if (next?.protocol !== "https:") throw refused("block_list_insecure");
      url = next.href;
    }
  }

  /** On a full disk it is used all the same, until the next start. */
  private async keep(url: string, list: KeptList): Promise<KeptList> {
    const keep = this.kept.keep(url, list);
    await keep.catch((error: unknown) =>
      this.deps.log.warn(`the list ${new URL(url).host} could not be saved: ${messageOf(error)}`),
    );
    return list;
  }
}

/** A list with less than half as many names as before, which is more likely a fault than a change. */
class Shrunk extends GatewayError {
  readonly alert: AlertArgs<"list_shrunk">;
  constructor(host: string, sizes: { names: number; former: number }) {
    const { code, message, args } = refused("block_list_shrunk", sizes);
    super(code, message, { args });
    this.alert = { what: "names", host, ...sizes };
  }
}

/** Whether it is one of these names, or below one. */
function isBelow(name: string, names: readonly string[]): boolean {
  return names.some((each) => name === each || name.endsWith(`.${each}`));
}
