import { type Static, Type } from "typebox";
import { messageOf } from "../base/errors.ts";
import type { Log } from "../base/log.ts";
import { objectOf } from "../base/object.ts";
import { savedJson, type Texts } from "../base/saved.ts";

const Entries = Type.Array(objectOf({ id: Type.String(), key: Type.String() }));
/** A thing, and the name that the gateway had in its topics. */
export type PublishedEntity = Static<typeof Entries>[number];
const ENTRIES = savedJson("mqtt_published", Entries, []);

/**
 * The messages that the broker keeps for this gateway. If something disappears while the two are disconnected, it is
 * removed there too.
 */
export class Published {
  private saved: readonly PublishedEntity[];

  constructor(
    private readonly store: Texts,
    private readonly log: Pick<Log, "warn">,
  ) {
    this.saved = ENTRIES.read(store);
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
      ENTRIES.write(this.store, entries);
    } catch (error) {
      // At worst Home Assistant still shows what was removed.
      this.log.warn(`MQTT: what Home Assistant shows could not be saved: ${messageOf(error)}`);
    }
  }
}

function has(entries: readonly PublishedEntity[], { id, key }: PublishedEntity): boolean {
  return entries.some((each) => each.id === id && each.key === key);
}
