import { Decision } from "../base/decision.ts";
import { messageOf } from "../base/errors.ts";
import type { Log } from "../base/log.ts";
import { SavedChoice, type Texts } from "../base/saved.ts";
import { LINE_BOUNDS } from "../shared/bounds.ts";
import type { Host } from "../system/host.ts";
import { OwnTable } from "./own-table.ts";
import { refused } from "./refusals.ts";

/** What the line to the internet carries, in Mbit/s each way. */
export interface Line {
  down: number;
  up: number;
}

interface Deps {
  host: Pick<Host, "run" | "sleep" | "monotonic">;
  store: Texts & { atomically(work: () => void): void };
  log: Pick<Log, "warn">;
  /** Whether an interface is a tunnel's, present or not. */
  isTunnel: (link: string) => boolean;
}

/** Interfaces: devices receive by those of the LAN, and send by those of the tunnels. */
interface Links {
  lan: readonly string[];
  tunnels: readonly string[];
}

/** A queue of a link, as `tc -j qdisc show` prints it (tc(8)): the fields that the gateway reads. */
interface Qdisc {
  kind: string;
  handle: string;
  dev?: string;
  root?: boolean;
  /** Of `cake`. */
  options?: {
    /** Bytes a second. */
    bandwidth?: number | string;
    diffserv?: string;
    nat?: boolean;
    flowmode?: string;
  };
}

/** By this number the gateway knows its own queues again. */
const HANDLE = "7043:";
/** The kernel's own queues, which it gives every link. */
const KERNELS = "0:";
/** The first queue waits for the kernel to load a module, which takes more than 10 s on an emulated machine. */
const TC_TIMEOUT_MS = 30_000;
const BYTES_PER_MEGABIT = 125_000;
const TEXT = /^(\d{1,5}) Mbit\/s down, (\d{1,5}) up$/;
const UNKNOWN = "not given";

/** As the preview of a restore shows it. */
export const LINE = new SavedChoice(
  "line",
  "rates of the line",
  UNKNOWN,
  (text) => text === UNKNOWN || lineIn(text) !== null,
);

/**
 * Where the line is busy, devices wait for each other in a queue, and that of the home router or the provider serves
 * whoever has sent most. With the line's rates known, the kernel keeps the queue here instead, by `cake` (tc-cake(8)),
 * and serves one device after the other. Without them nothing is queued, and no program runs after the start.
 */
export class FairQueues {
  private links: Links = { lan: [], tunnels: [] };
  /** Another process may know other links. */
  private isKept = false;
  private isWaiting = false;
  private readonly decision: Decision<Line | null>;
  private readonly table: OwnTable<Line | null>;

  constructor(private readonly deps: Deps) {
    const { log, store } = deps;
    const table = new OwnTable<Line | null>(log, {
      name: "the queue of the line",
      fault: "the queues of the line could not be set",
      // Only what a link lacks is set.
      replace: async (line) => this.assertFree(await this.apply(line)),
      list: async () => (await this.missing())?.missing.join() ?? null,
      isWhole: () => true,
    });
    this.table = table;
    this.decision = new Decision({
      store,
      read: () => lineIn(LINE.read(store)),
      write: (_, line) => LINE.write(store, textOf(line)),
      parts: [{ apply: (line) => table.load(line), effect: () => "neither" }],
    });
  }

  /** Null unless people have said what it is. */
  get line(): Line | null {
    return this.decision.value;
  }

  /**
   * Sets the rates; null ends the queues. Throws `GatewayError`: `unable` if the kernel cannot do it; then nothing has
   * changed.
   */
  set(line: Line | null): Promise<void> {
    return this.decision.change(() => line);
  }

  /** To be called when the store may have other rates, as after a restore. */
  reload(): Promise<void> {
    return this.table.attempt(() => this.decision.reload());
  }

  /**
   * Keeps the queues on the links that are there, from now on; a process that was killed may have left others. Until
   * `signal` aborts, it saves what could not be saved.
   */
  keep(signal: AbortSignal): Promise<void> {
    this.isKept = true;
    this.update();
    return this.decision.keepSaved(this.deps.host, signal);
  }

  /** The interfaces of the LAN. */
  lanIs(lan: readonly string[]): void {
    this.links = { ...this.links, lan };
    // One that was made again has the same name and no queue.
    if (this.line !== null) this.update();
  }

  /** The interfaces of the tunnels that are up. */
  tunnelsAre(tunnels: readonly string[]): void {
    const before = this.links.tunnels;
    this.links = { ...this.links, tunnels };
    if (this.line !== null && tunnels.join() !== before.join()) this.update();
  }

  /** Another program may have changed the queues. */
  async check(): Promise<void> {
    if (this.isKept && this.line !== null) await this.decision.between(() => this.table.check(this.line));
  }

  /** Which links lack their queue, of all; null while none is wanted. */
  async missing(): Promise<{ of: string[]; missing: string[] } | null> {
    if (this.line === null) return null;
    const wanted = wantedOn(this.links, this.line);
    const links = await rootQueues(this.deps.host);
    const missing = wanted.filter((each) => !isThere(each, links));
    return { of: wanted.map(({ link }) => link), missing: missing.map(({ link }) => link) };
  }

  /** However many changes of the network come meanwhile, one update waits. */
  private update(): void {
    if (!this.isKept || this.isWaiting) return;
    this.isWaiting = true;
    void this.decision.between(async () => {
      this.isWaiting = false;
      await this.table.attempt(() => this.table.load(this.line));
    });
  }

  /** Returns the queues of other programs that are in its way. */
  private async apply(line: Line | null): Promise<Qdisc[]> {
    const links = await rootQueues(this.deps.host);
    const wanted = line === null ? [] : wantedOn(this.links, line);
    const taken = links.filter(
      ({ handle, dev }) => handle !== HANDLE && handle !== KERNELS && wanted.some(({ link }) => link === dev),
    );
    const possible = wanted.filter(({ link }) =>
      links.some((each) => each.dev === link && !taken.includes(each)),
    );
    const lines = [
      ...possible
        .filter((each) => !isThere(each, links))
        .map(
          ({ link, bytes, flows }) =>
            `qdisc replace dev ${link} root handle ${HANDLE} cake bandwidth ${bytes}bps ${flows}`,
        ),
      ...links
        .filter(({ handle }) => handle === HANDLE)
        .flatMap(({ dev }) => dev ?? [])
        .filter((link) => wanted.every((each) => each.link !== link))
        // A tunnel that is left still sends what waits there, and takes its queue along.
        .filter((link) => line === null || !this.deps.isTunnel(link))
        .map((link) => `qdisc delete dev ${link} root`),
    ];
    if (lines.length === 0) return taken;
    try {
      await this.deps.host.run(["tc", "-batch", "-"], {
        stdin: `${lines.join("\n")}\n`,
        timeoutMs: TC_TIMEOUT_MS,
      });
    } catch (error) {
      if (/qdisc kind is unknown|Unknown qdisc/i.test(messageOf(error)))
        throw refused("queue_unsupported", {}, { cause: error });
      throw error;
    }
    return taken;
  }

  private assertFree([taken]: readonly Qdisc[]): void {
    if (taken === undefined) return;
    const { dev, kind, handle } = taken;
    throw refused("queue_foreign", { link: `${dev}`, kind, handle });
  }
}

/** The interfaces with a queue of the gateway's. */
export async function linksWithOwnQueue(host: Pick<Host, "run">): Promise<string[]> {
  const queues = await rootQueues(host);
  return queues.flatMap(({ handle, dev }) => (handle === HANDLE ? (dev ?? []) : []));
}

async function rootQueues(host: Pick<Host, "run">): Promise<Qdisc[]> {
  const all = JSON.parse((await host.run(["tc", "-j", "qdisc", "show"])) || "[]") as Qdisc[];
  return all.filter(({ root }) => root);
}

interface Wanted {
  link: string;
  /** A second. */
  bytes: number;
  /** How `cake` separates flows (tc-cake(8)). */
  flows: string;
}

/**
 * Devices cannot name a priority of their own (`besteffort`). In a tunnel they all have the tunnel's address, so the kernel
 * looks up who began the connection (`nat`), for IPv4 only (sch_cake.c, `cake_update_flowkeys`).
 */
function wantedOn({ lan, tunnels }: Links, { down, up }: Line): Wanted[] {
  return [
    ...lan.map((link) => ({ link, bytes: bytesOf(down), flows: "besteffort dual-dsthost" })),
    ...tunnels.map((link) => ({ link, bytes: bytesOf(up), flows: "besteffort nat dual-srchost" })),
  ];
}

function isThere({ link, bytes, flows }: Wanted, links: readonly Qdisc[]): boolean {
  return links.some(
    ({ dev, kind, handle, options = {} }) =>
      dev === link &&
      kind === "cake" &&
      handle === HANDLE &&
      Number(options.bandwidth) === bytes &&
      flowsIn(options) === flows,
  );
}

function flowsIn({ diffserv, nat, flowmode }: NonNullable<Qdisc["options"]>): string {
  return [diffserv, nat ? "nat" : [], flowmode].flat().join(" ");
}

function bytesOf(megabits: number): number {
  return Math.round(megabits * BYTES_PER_MEGABIT);
}

function textOf(line: Line | null): string {
  return line === null ? UNKNOWN : `${line.down} Mbit/s down, ${line.up} up`;
}

function lineIn(text: string): Line | null {
  const [, down, up] = TEXT.exec(text) ?? [];
  if (down === undefined || up === undefined) return null;
  const line = { down: Number(down), up: Number(up) };
  const { minimum, maximum } = LINE_BOUNDS;
  const isSound = [line.down, line.up].every((rate) => rate >= minimum && rate <= maximum);
  return isSound && textOf(line) === text ? line : null;
}
