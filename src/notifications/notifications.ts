import { Type } from "typebox";
import { messageOf as reasonOf } from "../base/errors.ts";
import type { Log } from "../base/log.ts";
import { savedJson, type Texts } from "../base/saved.ts";
import type { Host } from "../system/host.ts";
import type { State } from "../tunnel/state.ts";
import { Delivery, type DeliveryDeps } from "./delivery.ts";
import { type NotifiedEvent, Outage } from "./event.ts";
import { testMessage } from "./message.ts";
import { Outages } from "./outages.ts";
import { Kept } from "./outbox.ts";
import { parseTarget, type Target } from "./target.ts";

/** The result of a test for one target. */
export interface TestResult {
  target: string;
  sent: boolean;
  /** The reason, if it was not accepted. */
  error: string | null;
}

interface Deps extends Pick<DeliveryDeps, "send" | "isOpenTo"> {
  host: Pick<Host, "now" | "monotonic" | "sleep" | "read">;
  store: Texts;
  log: Pick<Log, "info" | "warn">;
  /** The name of this machine. */
  hostname: string;
  /** Addresses of targets, and files with one per line. */
  addresses: readonly string[];
}

/** More than a home needs. */
const MAX_TARGETS = 20;
/** Longer than any file with this many addresses. */
const MAX_FILE_BYTES = 64 * 1024;
/** Each write waits for the disk, and events come in groups. */
const SAVES_AFTER_MS = 500;

/** The state that survives restarts. */
const Stored = Type.Object(
  {
    /** The key is a digest of the target, because its address is secret. */
    targets: Type.Record(Type.String(), Kept),
    outages: Type.Array(Outage),
  },
  { additionalProperties: false },
);

/** One that is damaged counts as none: what was pending is in the journal too. */
const STORED = savedJson("notifications", Stored, null);

/** Reports events to people, by the services that they have chosen. */
export class Notifications {
  private deliveries: readonly Delivery[] = [];
  /** Addresses that cannot be used. */
  private readonly unusable: TestResult[] = [];
  private outages: Outages | null = null;
  private saved = "";
  private isSaving = false;

  constructor(private readonly deps: Deps) {}

  /** Reads the addresses and the stored state, and begins to send. Nothing has to wait for it. */
  async start(signal: AbortSignal): Promise<void> {
    const { host, log, hostname, send, isOpenTo } = this.deps;
    const targets = await this.targets();
    for (const { target, error } of this.unusable) log.warn(`--notify: ${target}: ${error}`);
    if (targets.length === 0) return;
    const stored = STORED.read(this.deps.store) ?? { targets: {}, outages: [] };
    const title = `Portcullis on ${hostname}`;
    const changed = () => void this.saveSoon();
    const shared: DeliveryDeps = { clock: host, send, isOpenTo, title, log, changed, signal };
    this.outages = new Outages({ clock: host, tell: (event) => this.tell(event) }, stored.outages);
    this.deliveries = targets.map((target) => new Delivery(shared, target, stored.targets[digestOf(target)]));
  }

  tell(event: NotifiedEvent): void {
    for (const delivery of this.deliveries) delivery.add(event);
  }

  /** A tunnel's present state. */
  see(tunnel: string, state: State, error: string | null): void {
    this.outages?.see(tunnel, state, error);
  }

  /** Sends every target a message now. */
  async test(): Promise<TestResult[]> {
    const { host, hostname } = this.deps;
    const message = testMessage(`Portcullis on ${hostname}`, host.now());
    const tested = this.deliveries.map(async (delivery) => {
      const error = await delivery.post(message).then(() => null, reasonOf);
      return { target: delivery.target.name, sent: error === null, error };
    });
    return [...(await Promise.all(tested)), ...this.unusable];
  }

  /** Writes the changes that are not written yet. */
  save(): void {
    const targets = this.deliveries.map(({ target, kept }) => [digestOf(target), kept] as const);
    const text = STORED.format({ targets: Object.fromEntries(targets), outages: this.outages?.kept ?? [] });
    if (this.deliveries.length === 0 || text === this.saved) return;
    try {
      this.deps.store.write(STORED.key, text);
      this.saved = text;
    } catch {
      // The next change tries it again. An alert reports that the disk accepts no writes.
    }
  }

  private async saveSoon(): Promise<void> {
    if (this.isSaving) return;
    this.isSaving = true;
    await this.deps.host.sleep(SAVES_AFTER_MS);
    this.isSaving = false;
    this.save();
  }

  private async targets(): Promise<Target[]> {
    const found: Target[] = [];
    for (const [at, address] of this.deps.addresses.entries()) {
      if (address.startsWith("/")) await this.readFile(address, found);
      else this.parse(address, `address ${at + 1}`, found);
    }
    const known = new Map(found.map((target) => [digestOf(target), target]));
    return [...known.values()].slice(0, MAX_TARGETS);
  }

  private async readFile(path: string, found: Target[]): Promise<void> {
    const text = await this.deps.host.read(path, MAX_FILE_BYTES);
    if (text === null) this.unusable.push({ target: path, sent: false, error: "the file cannot be read" });
    for (const [at, line] of (text ?? "")
      .split("\n")
      .map((each) => each.trim())
      .entries())
      if (line !== "" && !line.startsWith("#")) this.parse(line, `${path}, line ${at + 1}`, found);
  }

  private parse(address: string, where: string, found: Target[]): void {
    try {
      found.push(parseTarget(address));
    } catch (error) {
      this.unusable.push({ target: where, sent: false, error: reasonOf(error) });
    }
  }
}

function digestOf(target: Target): string {
  return new Bun.CryptoHasher("sha256").update(JSON.stringify(target)).digest("base64url");
}
