import { GatewayError, messageOf } from "../base/errors.ts";
import type { Log } from "../base/log.ts";
import { Queue } from "../base/queue.ts";
import { SavedChoice, type Texts } from "../base/saved.ts";
import { LINE_BOUNDS } from "../shared/bounds.ts";
import type { Host } from "../system/host.ts";

/** What the line to the internet carries, in Mbit/s each way. */
export interface Line {
  down: number;
  up: number;
}

interface Deps {
  host: Pick<Host, "run">;
  store: Texts;
  log: Pick<Log, "warn">;
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
  /** Of `cake`: bytes a second. */
  options?: { bandwidth?: number | string };
}

/** By this number the gateway knows its own queues again. */
const HANDLE = "7043:";
/** The kernel's own queues, which it gives every link. */
const KERNELS = "0:";
const BYTES_PER_MEGABIT = 125_000;
const TEXT = /^(\d{1,5}) Mbit\/s down, (\d{1,5}) up$/;
const UNKNOWN = "not given";
const NO_CAKE =
  "This kernel has no CAKE, which shares the line among devices: it needs the module sch_cake, which the kernels of Debian and Raspberry Pi OS have.";

/** As people are told of it where a backup changes it. */
export const LINE = new SavedChoice(
  "line",
  "rates of the line",
  UNKNOWN,
  (text) => text === UNKNOWN || lineIn(text) !== null,
);

/**
 * Where the line is busy, devices wait for each other in a queue, and that of the home router or the provider serves
 * whoever has sent most. With the line's rates known, the kernel keeps the queue here instead, by `cake` (tc-cake(8)),
 * and serves one device after the other. Nothing is queued, and no program runs, without them.
 */
export class FairQueues {
  private current: Line | null | undefined;
  private links: Links = { lan: [], tunnels: [] };
  /** Another process may know other links. */
  private isKept = false;
  private readonly changes = new Queue();
  private trouble: string | null = null;

  constructor(private readonly deps: Deps) {}

  /** Null unless people have said what it is. */
  get line(): Line | null {
    if (this.current === undefined) this.current = lineIn(LINE.read(this.deps.store));
    return this.current;
  }

  /**
   * Uses other rates from now on; null ends the queues. Throws `GatewayError`: `unable` if the kernel cannot do it; then
   * nothing has changed.
   */
  set(line: Line | null): Promise<void> {
    return this.changes.add(async () => {
      const former = this.line;
      try {
        await this.apply(line);
        LINE.write(this.deps.store, textOf(line));
      } catch (error) {
        await this.apply(former).catch(() => {});
        throw error;
      }
      this.current = line;
      this.trouble = null;
    });
  }

  /** To be called when the store may have other rates, as after a restore. */
  reload(): void {
    const had = this.line !== null;
    this.current = undefined;
    this.update(had);
  }

  /** Keeps the queues on the links that are there, from now on. */
  keep(): void {
    this.isKept = true;
    this.update(false);
  }

  /** The interfaces of the LAN. */
  lanIs(lan: readonly string[]): void {
    this.linksAre({ ...this.links, lan });
  }

  /** The interfaces of the tunnels that are up. */
  tunnelsAre(tunnels: readonly string[]): void {
    this.linksAre({ ...this.links, tunnels });
  }

  /** Which links lack their queue, of all; null while none is wanted. */
  async missing(): Promise<{ of: string[]; missing: string[] } | null> {
    if (this.line === null) return null;
    const wanted = wantedOn(this.links, this.line);
    const links = await rootQueues(this.deps.host);
    const missing = wanted.filter((each) => !isThere(each, links));
    return { of: wanted.map(({ link }) => link), missing: missing.map(({ link }) => link) };
  }

  private linksAre(links: Links): void {
    const before = this.links;
    this.links = links;
    // An interface that has gone takes its queue along.
    if (`${links.lan} ${links.tunnels}` !== `${before.lan} ${before.tunnels}`) this.update(false);
  }

  private update(had: boolean): void {
    if (!this.isKept || (this.line === null && !had)) return;
    void this.changes
      .add(() => this.apply(this.line))
      .then(
        () => {
          this.trouble = null;
        },
        (error: unknown) => {
          const trouble = `the line is not shared fairly: ${messageOf(error)}`;
          if (trouble !== this.trouble) this.deps.log.warn(trouble);
          this.trouble = trouble;
        },
      );
  }

  private async apply(line: Line | null): Promise<void> {
    const links = await rootQueues(this.deps.host);
    const wanted = line === null ? [] : wantedOn(this.links, line);
    const over = links.filter(
      ({ handle, dev }) => handle === HANDLE && wanted.every(({ link }) => link !== dev),
    );
    const taken = links.find(
      ({ handle, dev }) => handle !== HANDLE && handle !== KERNELS && wanted.some(({ link }) => link === dev),
    );
    if (taken !== undefined)
      throw new GatewayError(
        "unable",
        `${taken.dev} has a queue of another program (${taken.kind} ${taken.handle}). Remove it first: tc qdisc delete dev ${taken.dev} root`,
      );
    const lines = [
      ...wanted
        .filter((each) => links.some(({ dev }) => dev === each.link) && !isThere(each, links))
        .map(
          ({ link, bytes, flows }) =>
            `qdisc replace dev ${link} root handle ${HANDLE} cake bandwidth ${bytes}bps ${flows}`,
        ),
      ...over.map(({ dev }) => `qdisc delete dev ${dev} root`),
    ];
    if (lines.length === 0) return;
    try {
      await this.deps.host.run(["tc", "-batch", "-"], { stdin: `${lines.join("\n")}\n` });
    } catch (error) {
      if (/qdisc kind is unknown|Unknown qdisc/i.test(messageOf(error)))
        throw new GatewayError("unable", NO_CAKE, { cause: error });
      throw error;
    }
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
  /** Whose turn it is, in words of tc-cake(8). */
  flows: string;
}

/**
 * Devices cannot name a priority of their own (`besteffort`). In a tunnel they all have the tunnel's address, so the kernel
 * looks up who began the connection (`nat`).
 */
function wantedOn({ lan, tunnels }: Links, { down, up }: Line): Wanted[] {
  return [
    ...lan.map((link) => ({ link, bytes: bytesOf(down), flows: "besteffort dual-dsthost" })),
    ...tunnels.map((link) => ({ link, bytes: bytesOf(up), flows: "besteffort nat dual-srchost" })),
  ];
}

function isThere({ link, bytes }: Wanted, links: readonly Qdisc[]): boolean {
  return links.some(
    ({ dev, kind, handle, options }) =>
      dev === link && kind === "cake" && handle === HANDLE && Number(options?.bandwidth) === bytes,
  );
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
