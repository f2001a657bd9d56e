import { Type } from "typebox";
import { isLoopback, parseAddress } from "../base/address.ts";
import type { AlertArgs } from "../base/alert-rows.ts";
import { Decision, effectBy, without } from "../base/decision.ts";
import { LANGUAGE, type Translate, translationIn } from "../base/language.ts";
import type { Log } from "../base/log.ts";
import { nameIn } from "../base/name.ts";
import { objectOf } from "../base/object.ts";
import { type Reason, reasonOf } from "../base/reason.ts";
import { within } from "../base/refusals.ts";
import { savedJson, type Texts } from "../base/saved.ts";
import { redacted } from "../base/secrets.ts";
import type { Host } from "../system/host.ts";
import type { State } from "../tunnel/state.ts";
import { Delivery, type DeliveryDeps } from "./delivery.ts";
import { type NotifiedEvent, Outage } from "./event.ts";
import { testMessage } from "./message.ts";
import { Outages } from "./outages.ts";
import { Kept } from "./outbox.ts";
import { refused } from "./refusals.ts";
import { NewTarget, type ShownTarget, type TestResult } from "./schema.ts";
import { parseTarget, type Target } from "./target.ts";

interface Deps extends Pick<DeliveryDeps, "send" | "isOpenTo" | "headline"> {
  host: Pick<Host, "now" | "monotonic" | "sleep" | "read">;
  store: Texts & {
    atomically(work: () => void): void;
    /** Leaves no copy of what was removed. */
    scrub(): void;
  };
  log: Pick<Log, "info" | "warn">;
  /** The name of this machine. */
  hostname: string;
  /** Addresses of targets, and files with one per line. */
  addresses: readonly string[];
  /** Called when a person has added or removed a target. */
  onChange: (change: AlertArgs<"notifications_changed">) => void;
}

/** More than a home needs. */
const MAX_TARGETS = 20;
/** Longer than any file with this many addresses. */
const MAX_FILE_BYTES = 64 * 1024;
/** Each write waits for the disk, and events come in groups. */
const SAVES_AFTER_MS = 500;

/** The state that survives restarts. */
const Stored = objectOf({
  /** The key is a digest of the target, because its address is secret. */
  targets: Type.Record(Type.String(), Kept),
  outages: Type.Array(Outage),
});

/** One that is damaged counts as none: what was pending is in the journal too. */
const STORED = savedJson("notifications", Stored, null);

/** Targets that people have added, each with its address, which is secret. They are not part of a backup. */
export const ADDED_TARGETS = savedJson(
  "notification_targets",
  Type.Array(NewTarget, {
    maxItems: MAX_TARGETS,
  }),
  [],
);

/** A target that is in use. */
interface Used {
  /** Null for one of the settings. */
  added: NewTarget | null;
  delivery: Delivery;
  ending: AbortController;
}

/** Reports events to people, by the services that they have chosen. */
export class Notifications {
  private used: readonly Used[] = [];
  /** Addresses that cannot be used. */
  private readonly unusable: TestResult[] = [];
  private outages: Outages | null = null;
  private saved = "";
  private isSaving = false;
  /** Null until the start. */
  private begin: ((target: Target, added: NewTarget | null, kept?: Kept) => Used) | null = null;
  /** What people have added. */
  private readonly decision: Decision<readonly NewTarget[]>;
  /** Those of them that are in use, or would be if they could. */
  private applied: readonly NewTarget[];
  /** Who has asked for the change that is under way. */
  private by = "";

  constructor(private readonly deps: Deps) {
    const { store } = deps;
    this.decision = new Decision({
      store,
      read: () => ADDED_TARGETS.read(store),
      write: (_, added) => ADDED_TARGETS.write(store, added),
      parts: [{ apply: async (added) => this.apply(added), effect: effectBy(textsOf) }],
      secrets: (added) => added.map(({ address }) => address),
    });
    this.applied = this.decision.value;
  }

  /** Reads the addresses and the stored state, and begins to send. Nothing has to wait for it. */
  async start(signal: AbortSignal): Promise<void> {
    const { host, log, hostname, send, isOpenTo, headline, store } = this.deps;
    // Of a start that failed.
    this.unusable.length = 0;
    const targets = this.targets(await this.given());
    for (const { target, error } of this.unusable) log.warn(`--notify: ${target}: ${error}`);
    const stored = STORED.read(store) ?? { targets: {}, outages: [] };
    this.saved = store.read(STORED.key) ?? "";
    const changed = () => void this.saveSoon();
    const translation = () => this.translation();
    const shared = { clock: host, send, isOpenTo, hostname, translation, headline, log, changed };
    this.begin = (target, added, kept) => {
      const ending = new AbortController();
      const deps: DeliveryDeps = { ...shared, signal: AbortSignal.any([signal, ending.signal]) };
      return { added, delivery: new Delivery(deps, target, kept), ending };
    };
    this.outages = new Outages({ clock: host, tell: (event) => this.tell(event) }, stored.outages);
    for (const [target, added] of targets) this.use(target, added, stored.targets[digestOf(target)]);
  }

  tell(event: NotifiedEvent): void {
    for (const { delivery } of this.used) delivery.add(event);
  }

  /** A tunnel's present state. */
  see(tunnel: string, state: State, error: string | null): void {
    this.outages?.see(tunnel, state, error);
  }

  /** As people have named what they have added. */
  names(): string[] {
    return this.decision.value.map(({ name }) => name);
  }

  list(): ShownTarget[] {
    const used = this.used.map(({ added, delivery: { target, waiting, fault } }) => ({
      ...{ name: added?.name ?? null, target: target.name, waiting },
      ...(fault ?? { error: null }),
    }));
    const unusable = this.unusable.map(({ sent: _, ...row }) => ({ name: null, waiting: 0, ...row }));
    return [...used, ...unusable];
  }

  /** Throws `GatewayError`, whose message does not quote the address. `by` is who has asked for it. */
  async add({ name, address }: NewTarget, by: string): Promise<ShownTarget> {
    if (this.begin === null) throw refused("notifications_starting");
    const target = addedTarget({ name, address });
    await this.decision.change((added) => {
      if (this.names().includes(name)) throw refused("name_exists", { name });
      if (this.isUsed(target)) throw refused("address_used");
      if (Math.max(this.used.length, added.length) >= MAX_TARGETS)
        throw refused("limit_reached", { of: "addresses", max: MAX_TARGETS });
      this.by = by;
      return [...added, { name, address }];
    });
    return { name, target: target.name, waiting: 0, error: null };
  }

  /** From now on nothing is sent there, even if that cannot be saved. Then it throws. */
  async remove(name: string, by: string): Promise<void> {
    await this.decision.remove(
      (added) => {
        this.by = by;
        return without(added, (each) => each.name === name);
      },
      refused("address_unknown", { name }),
    );
  }

  /** Saves what could not be saved, until `signal` aborts. */
  watch(signal: AbortSignal): Promise<void> {
    return this.decision.keepSaved(this.deps.host, signal);
  }

  /** Sends every target a message now. */
  async test(): Promise<TestResult[]> {
    const { host, hostname } = this.deps;
    const message = testMessage({ hostname, translate: await this.translation() }, host.now());
    const tested = this.used.map(async ({ added, delivery }) => {
      const fault = await delivery.post(message).then((): Reason | null => null, reasonOf);
      const { name } = delivery.target;
      const target = added === null ? name : `${added.name} (${name})`;
      return { target, sent: fault === null, ...(fault ?? { error: null }) };
    });
    return [...(await Promise.all(tested)), ...this.unusable];
  }

  /** Writes the changes that are not written yet. */
  save(): void {
    const targets = this.used.map(({ delivery: { target, kept } }) => [digestOf(target), kept] as const);
    const outages = targets.length === 0 ? [] : (this.outages?.kept ?? []);
    const text = STORED.format({ targets: Object.fromEntries(targets), outages });
    if (text === this.saved || (targets.length === 0 && this.saved === "")) return;
    try {
      this.deps.store.write(STORED.key, text);
      this.saved = text;
    } catch {
      // The next change tries it again. An alert reports that the disk accepts no writes.
    }
  }

  private translation(): Promise<Translate> {
    return translationIn(LANGUAGE.read(this.deps.store));
  }

  private apply(added: readonly NewTarget[]): void {
    const before = this.applied;
    this.applied = added;
    for (const each of before.filter((former) => !added.includes(former))) this.end(each);
    for (const each of added.filter((later) => !before.includes(later))) {
      const target = parseTarget(each.address);
      this.use(target, each);
      this.deps.onChange({ what: "added", name: each.name, target: target.name, by: this.by });
    }
  }

  /** One that is not used is the same as one of the settings, or cannot be used. */
  private end({ name }: NewTarget): void {
    const ended = this.used.find(({ added }) => added?.name === name);
    ended?.ending.abort();
    this.used = this.used.filter((each) => each !== ended);
    const removed = { name, by: this.by };
    this.deps.onChange(
      ended === undefined
        ? { what: "removed_unused", ...removed }
        : { what: "removed", target: ended.delivery.target.name, ...removed },
    );
    void this.saveSoon();
  }

  private use(target: Target, added: NewTarget | null, kept?: Kept): void {
    if (this.begin !== null) this.used = [...this.used, this.begin(target, added, kept)];
  }

  private isUsed(target: Target): boolean {
    return this.used.some(({ delivery }) => digestOf(delivery.target) === digestOf(target));
  }

  private async saveSoon(): Promise<void> {
    if (this.isSaving) return;
    this.isSaving = true;
    await this.deps.host.sleep(SAVES_AFTER_MS);
    this.isSaving = false;
    this.save();
  }

  /** Those of the settings come first. Of those that are the same, the first counts. */
  private targets(given: readonly Target[]): (readonly [Target, NewTarget | null])[] {
    const added = this.decision.value.flatMap((each) =>
      this.parsed(each.address, each.name).map((target) => [target, each] as const),
    );
    const known = new Map<string, readonly [Target, NewTarget | null]>();
    for (const each of [...given.map((target) => [target, null] as const), ...added]) {
      const digest = digestOf(each[0]);
      if (!known.has(digest)) known.set(digest, each);
    }
    return [...known.values()].slice(0, MAX_TARGETS);
  }

  private async given(): Promise<Target[]> {
    const found: Target[] = [];
    for (const [at, address] of this.deps.addresses.entries()) {
      if (address.startsWith("/")) await this.readFile(address, found);
      else found.push(...this.parsed(address, `address ${at + 1}`));
    }
    return found;
  }

  private async readFile(path: string, found: Target[]): Promise<void> {
    const text = await this.deps.host.read(path, MAX_FILE_BYTES);
    if (text === null)
      this.unusable.push({ target: path, sent: false, ...reasonOf(refused("address_file_unread")) });
    for (const [at, line] of (text ?? "")
      .split("\n")
      .map((each) => each.trim())
      .entries())
      if (line !== "" && !line.startsWith("#")) found.push(...this.parsed(line, `${path}, line ${at + 1}`));
  }

  /** None if the address cannot be used, as the list then shows. */
  private parsed(address: string, where: string): Target[] {
    try {
      return [parseTarget(address)];
    } catch (error) {
      this.unusable.push({ target: where, sent: false, ...reasonOf(error) });
      return [];
    }
  }
}

/** Only root chooses programs of this machine itself, which may trust every local client. */
function addedTarget({ name, address }: NewTarget): Target {
  nameIn("name", name);
  if (redacted(name) !== name) throw refused("name_secret");
  const target = targetIn(address);
  const host = new URL(target.url).hostname.replace(/^\[|\]$|\.$/g, "");
  const literal = parseAddress(host);
  // All names below it are this machine's, too (RFC 6761, section 6.3).
  if (literal === null ? /(^|\.)localhost$/.test(host) : isLoopback(literal))
    throw refused("address_of_machine");
  return target;
}

function targetIn(address: string): Target {
  try {
    return parseTarget(address);
  } catch (error) {
    throw within("address", error);
  }
}

function textsOf(added: readonly NewTarget[]): string[] {
  return added.map(({ name, address }) => `${name} ${address}`);
}

function digestOf(target: Target): string {
  return new Bun.CryptoHasher("sha256").update(JSON.stringify(target)).digest("base64url");
}
