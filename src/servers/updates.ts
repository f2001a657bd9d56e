import { type AlertArgs, alertText } from "../base/alert-rows.ts";
import { GatewayError, messageOf } from "../base/errors.ts";
import type { Log } from "../base/log.ts";
import type { Host, Send } from "../system/host.ts";
import type { Catalogue } from "./catalogue.ts";
import { type List, readList } from "./lists/list.ts";
import { isAddress } from "./managed.ts";
import { refused } from "./refusals.ts";
import type { Updated } from "./schema.ts";
import type { Storage } from "./storage.ts";

interface Deps {
  host: Pick<Host, "read" | "now" | "monotonic" | "sleep">;
  store: Pick<Storage, "list" | "fetchedAt" | "saveList" | "confirmList">;
  catalogue: Catalogue;
  log: Pick<Log, "info" | "warn">;
  /** Called if the source has far fewer servers than before. */
  onShrunk: (lists: AlertArgs<"list_shrunk">) => void;
}

/** Providers change a few servers a day. */
const REFRESH_EVERY_MS = 12 * 3_600_000;
/** After a failure, and after the clock was set back. */
const TRY_AGAIN_MS = 3_600_000;
/** A new tunnel first serves its clients. */
const SETTLE_MS = 10_000;

/** Keeps the managed provider's list up to date, from its file or its address. */
export class Updates {
  private waiting = new AbortController();
  /** Sends through the tunnel; null while it is down. */
  private inside: Send | null = null;
  /** When the last refresh failed; null if it succeeded. */
  private failedAt: number | null = null;

  constructor(
    private readonly deps: Deps,
    /** The list's location: the path of a file, an https address, or null if there is no list. */
    private source: string | null,
  ) {}

  /** Whether the list comes from an address instead of a file. */
  get isFetched(): boolean {
    return this.source !== null && isAddress(this.source);
  }

  /** Changes to another provider's list, and loads what is stored of it. */
  async useSource(source: string | null): Promise<void> {
    if (source === this.source) return;
    this.source = source;
    this.failedAt = null;
    const { host, store, catalogue } = this.deps;
    await catalogue.reloadManaged(host, source, store);
    this.keepFresh();
  }

  /**
   * Reads the source again. Throws `GatewayError("unable")` and keeps the current list if the new one cannot be
   * fetched or used, or has less than half as many servers and `force` is not set.
   */
  async update(send: Send, { force }: { force: boolean }): Promise<Updated> {
    const { source } = this;
    if (source === null) throw refused("list_missing");
    return isAddress(source) ? this.fetch(source, send, force) : this.reread(source, force);
  }

  /** Refreshes a list from an address while the tunnel is up, at the cost of one timer. */
  tunnelIs(up: boolean, inside: Send): void {
    this.inside = up ? inside : null;
    this.keepFresh();
  }

  private keepFresh(): void {
    this.waiting.abort();
    this.waiting = new AbortController();
    const { source, inside } = this;
    if (inside !== null && source !== null && isAddress(source))
      void this.refresh(source, inside, this.waiting.signal);
  }

  private async refresh(source: string, inside: Send, signal: AbortSignal): Promise<void> {
    const { host, log, onShrunk } = this.deps;
    while (!signal.aborted) {
      try {
        // Inside the `try`, because it reads the database, which may fail too.
        await host.sleep(this.untilDue(source), signal);
        if (signal.aborted) return;
        await this.update(inside, { force: false });
        this.failedAt = null;
      } catch (error) {
        this.failedAt = host.monotonic();
        if (error instanceof Shrunk) onShrunk(error.lists);
        else log.warn(`the list of the VPN account's servers could not be refreshed: ${messageOf(error)}`);
      }
    }
  }

  private untilDue(source: string): number {
    const { store, host } = this.deps;
    if (this.failedAt !== null) {
      return Math.max(SETTLE_MS, this.failedAt + TRY_AGAIN_MS - host.monotonic());
    }
    const age = host.now() - (store.fetchedAt(source) ?? 0);
    return age < 0 ? TRY_AGAIN_MS : Math.max(SETTLE_MS, REFRESH_EVERY_MS - age);
  }

  private async fetch(source: string, send: Send, force: boolean): Promise<Updated> {
    const { store, host, catalogue } = this.deps;
    const kept = store.list(source);
    const etag = catalogue.managed.listed().length > 0 ? (kept?.etag ?? "") : "";
    const headers = { Accept: "application/json", ...(etag !== "" && { "If-None-Match": etag }) };
    const answer = await send({ url: source, method: "GET", headers });
    if (source !== this.source) throw refused("list_overtaken");
    if (answer.status === 304 && etag !== "") {
      store.confirmList(source, host.now());
      return { changed: false, servers: catalogue.managed.listed().length, skipped: 0 };
    }
    if (answer.status !== 200) throw notAnswered(source, answer);
    const list = readList(answer.body);
    this.assertNotShrunk(list, force);
    store.saveList(source, {
      etag: answer.headers.etag ?? "",
      fetched: host.now(),
      content: answer.body,
    });
    return this.take(list);
  }

  private async reread(file: string, force: boolean): Promise<Updated> {
    const text = await this.deps.host.read(file);
    if (text === null) throw refused("list_unreadable", { file });
    const list = readList(text);
    this.assertNotShrunk(list, force);
    return this.take(list);
  }

  private take(list: List): Updated {
    const changed = this.deps.catalogue.relist(list);
    const servers = list.servers.length;
    if (changed) this.deps.log.info(`the list of the VPN account's servers has changed: ${servers} servers`);
    return { changed, servers, skipped: list.skipped };
  }

  private assertNotShrunk({ servers }: List, force: boolean): void {
    const current = this.deps.catalogue.managed.listed().length;
    if (force || servers.length * 2 >= current) return;
    throw new Shrunk({ what: "servers", servers: servers.length, current });
  }
}

/** A mistake at the source must not remove a home's servers. */
class Shrunk extends GatewayError {
  constructor(readonly lists: AlertArgs<"list_shrunk">) {
    super("unable", alertText("list_shrunk", lists));
  }
}

function notAnswered(
  source: string,
  { status, headers }: { status: number; headers: Record<string, string> },
): GatewayError {
  const moved = headers.location === undefined ? "no" : "yes";
  return refused("list_not_answered", { host: new URL(source).host, status, moved });
}
