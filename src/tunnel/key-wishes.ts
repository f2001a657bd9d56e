import { type Static, Type } from "typebox";
import { checkerOf } from "../base/checker.ts";
import { enumOf } from "../base/enum.ts";
import { type BackedUp, type Change, rowChanges, Saved } from "../base/saved.ts";
import { MAIN } from "../killswitch/policy.ts";
import { stricter } from "../servers/quantum.ts";
import { isTunnelName } from "./name.ts";

const Wishes = Type.Record(Type.String(), enumOf(["on", "require"]));
type Wishes = Readonly<Static<typeof Wishes>>;
const wishes = checkerOf(Wishes);

/** Of which tunnels the keys are to be safe from quantum computers, also while they lead nowhere. */
class KeyWishes extends Saved<Wishes> implements BackedUp {
  constructor() {
    super("quantum", (text) => wishes.read(text) ?? {});
  }

  override isValid(text: string): boolean {
    const known = wishes.read(text);
    return known !== null && Object.keys(known).every((name) => name === MAIN || isTunnelName(name));
  }

  /** Of both the stricter: a restore must not end what was required here. */
  merge(here: string | null, given: string, tunnels: ReadonlySet<string>): string {
    const merged = new Map(Object.entries(this.parse(here)));
    for (const [name, wish] of Object.entries(this.parse(given)).filter(([tunnel]) => tunnels.has(tunnel))) {
      const both = stricter(merged.get(name), wish);
      if (both !== "off") merged.set(name, both);
    }
    return this.format(Object.fromEntries(merged));
  }

  changes(here: string | null, then: string | null): Change[] {
    const rowsOf = (text: string | null) => new Map<string, string>(Object.entries(this.parse(text)));
    const changes = rowChanges("keys safe from quantum computers, tunnel", rowsOf(here), rowsOf(then));
    return changes.map((change) => ({ ...change, replaces: false }));
  }
}

export const KEY_WISHES = new KeyWishes();
