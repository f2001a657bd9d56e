import { type Static, Type } from "typebox";
import { checkerOf } from "../base/checker.ts";
import { messageOf } from "../base/errors.ts";
import type { Log } from "../base/log.ts";
import type { Storage } from "../servers/storage.ts";

/** The setting that survives a restart. */
const KEY = "mqtt_published";

const Entries = Type.Array(
  Type.Object({ id: Type.String(), key: Type.String() }, { additionalProperties: false }),
);
/** A thing, and the name that the gateway had in its topics. */
export type PublishedEntity = Static<typeof Entries>[number];
const entriesSchema = checkerOf(Entries);

/**
 * The messages that the broker keeps for this gateway. If something disappears while the two are disconnected, it is
 * removed there too.
 */
export class Published {
  private saved: readonly PublishedEntity[];

  constructor(
    private readonly store: Pick<Storage, "read" | "write">,
    private readonly log: Pick<Log, "warn">,
  ) {
    this.saved = entriesIn(store.read(KEY));
  }

  /** The messages that the broker may have and should not have. */
  stale(wanted: readonly PublishedEntity[]): PublishedEntity[] {
    return this.saved.filter((each) => !has(wanted, each));
  }

  /** The broker is about to be sent these too. */
  add(wanted: readonly PublishedEntity[]): void {
    this.save([...this.saved, ...wanted.filter((each) => !has(this.saved, each))]);
  }

  /** The broker has these and no others. */
  settle(wanted: readonly PublishedEntity[]): void {
    this.save(this.saved.filter((each) => has(wanted, each)));
  }

  private save(entries: readonly PublishedEntity[]): void {
    if (entries.length === this.saved.length) return;
    this.saved = entries;
    try {
      this.store.write(KEY, JSON.stringify(entries));
    } catch (error) {
      // At worst Home Assistant still shows what was removed.
      this.log.warn(`MQTT: what Home Assistant shows could not be saved: ${messageOf(error)}`);
    }
  }
}

function has(entries: readonly PublishedEntity[], { id, key }: PublishedEntity): boolean {
  return entries.some((each) => each.id === id && each.key === key);
}

function entriesIn(text: string | null): PublishedEntity[] {
  try {
    const value: unknown = JSON.parse(text ?? "[]");
    return entriesSchema.Check(value) ? value : [];
  } catch {
    return [];
  }
}
