import type { Static, TSchema } from "typebox";
import { checkerOf, jsonIn } from "./checker.ts";
import { refused } from "./refusals.ts";

/** Texts by key: the database, or a copy that works without the disk. */
export interface Texts {
  /** Null if it was never written. */
  read(key: string): string | null;
  write(key: string, text: string): void;
}

/** Of one kept value: more than the longest takes, the rules for destinations. Each is read and checked in one turn. */
const MAX_CHARACTERS = 655_360;

/** One thing that the gateway keeps across restarts. */
export class Saved<Value> {
  /** What a text means; null stands for what was never written. What cannot be read counts as not written. */
  readonly parse: (text: string | null) => Value;

  constructor(
    readonly key: string,
    parse: (text: string | null) => Value,
    readonly format: (value: Value) => string = JSON.stringify,
    private readonly maxCharacters: number = MAX_CHARACTERS,
  ) {
    this.parse = (text) => parse(text !== null && text.length > maxCharacters ? null : text);
  }

  /** Whether the gateway could have written it. */
  isValid(text: string): boolean {
    return this.format(this.parse(text)) === text;
  }

  /** What can be read of a text that is not whole, as a text; null if that is nothing, or if the text is whole. */
  leftOf(text: string): { text: string | null } | null {
    return this.isValid(text) ? null : { text: null };
  }

  read(from: Pick<Texts, "read">): Value {
    return this.parse(from.read(this.key));
  }

  write(to: Pick<Texts, "write">, value: Value): void {
    const text = this.format(value);
    // It would be gone after the next start.
    if (text.length > this.maxCharacters) throw refused("too_long_to_keep", { setting: this.key });
    to.write(this.key, text);
  }
}

/** One that is JSON of a schema; anything else means `unset`. */
export function savedJson<Schema extends TSchema, Unset>(
  key: string,
  schema: Schema,
  unset: Unset,
): Saved<Readonly<Static<Schema>> | Unset> {
  const known = checkerOf(schema);
  return new Saved<Readonly<Static<Schema>> | Unset>(key, (text) => known.read(text) ?? unset);
}

/** A number, such as a time in milliseconds since 1970; null if there is none. */
export function savedNumber(key: string): Saved<number | null> {
  const parse = (text: string | null) =>
    text === null || !Number.isFinite(Number(text)) ? null : Number(text);
  return new Saved(key, parse, String);
}

/** One thing that a restore changes. */
export interface Change {
  what: string;
  /** Which of them; empty if there is only one. */
  name: string;
  /** In words; null if there is none. */
  before: string | null;
  after: string | null;
  /** Whether something is lost that is here now: a default that nobody has chosen is not. */
  replaces: boolean;
}

/** A change in a line, for people. */
export function changeText({ what, name, before, after }: Change): string {
  const title = name === "" ? what : `${what} ${name}`;
  if (before === null) return `${title}: new, ${after}`;
  return after === null ? `${title}: removed; it was ${before}` : `${title}: ${before} → ${after}`;
}

/** What backups and restores do with the text of one key. */
export interface BackedUp {
  readonly key: string;
  /** Whether the gateway could have written it. */
  isValid(text: string): boolean;
  /** What is there after the restore of a text, for the tunnels that there are then. */
  merge(here: string | null, given: string, tunnels: ReadonlySet<string>): string;
  changes(here: string | null, then: string | null): Change[];
}

/** One word that people choose. */
export class SavedChoice extends Saved<string> implements BackedUp {
  constructor(
    key: string,
    private readonly what: string,
    /** What holds where nobody has chosen. */
    readonly unset: string,
    private readonly isPossible: (text: string) => boolean,
    /** Whether another one is restored only by a permission of its own. */
    private readonly isPermitted = false,
  ) {
    super(
      key,
      (text) => text ?? unset,
      (text) => text,
    );
  }

  override isValid(text: string): boolean {
    return this.isPossible(text);
  }

  merge(_here: string | null, given: string): string {
    return given;
  }

  changes(here: string | null, then: string | null): Change[] {
    const [before, after] = [this.parse(here), this.parse(then)];
    const replaces = here !== null && !this.isPermitted;
    return before === after ? [] : [{ what: this.what, name: "", before, after, replaces }];
  }
}

interface ListParts<Entry> {
  key: string;
  /** What people call one of them. */
  what: string;
  max: number;
  /** Of the longest one. */
  maxCharacters: number;
  /** Those that can be read. */
  entriesIn: (text: string | null) => readonly Entry[];
  /** How many there are, whether they can be read or not, if the text is no JSON. */
  countIn?: (text: string) => number;
  format: (entries: readonly Entry[]) => string;
  /** What identifies one, for people too. */
  nameOf: (entry: Entry) => string;
  /** What no two may share besides. */
  claimOf?: (entry: Entry) => string;
  /** The rest of it. */
  wordsOf: (entry: Entry) => string;
  /** What a restore makes of both, if the backup's do not simply come first. */
  merge?: (here: readonly Entry[], given: readonly Entry[]) => readonly Entry[];
}

/** What is here, in a backup, and of both. */
const MAX_LATEST = 3;

/** A bounded list of things, each with a name of its own. */
export class SavedList<Entry> extends Saved<readonly Entry[]> implements BackedUp {
  readonly max: number;
  /** What the latest texts mean. */
  private readonly known = new Map<string | null, readonly Entry[]>();

  constructor(private readonly parts: ListParts<Entry>) {
    const { key, entriesIn, format, max, maxCharacters } = parts;
    super(key, (text) => this.latest(text, () => this.bounded(entriesIn(text))), format, max * maxCharacters);
    this.max = max;
  }

  /** A restore asks again and again what its texts mean. */
  private latest(text: string | null, read: () => readonly Entry[]): readonly Entry[] {
    const known = this.known.get(text);
    if (known !== undefined) return known;
    if (this.known.size >= MAX_LATEST) this.known.clear();
    const entries = read();
    this.known.set(text, entries);
    return entries;
  }

  /** Former versions may have written another order. */
  override leftOf(text: string): { text: string } | null {
    const { countIn = lengthOf } = this.parts;
    const entries = this.parse(text);
    return entries.length === countIn(text) ? null : { text: this.format(entries) };
  }

  merge(here: string | null, given: string): string {
    const { merge = (present, restored) => [...restored, ...present] } = this.parts;
    return this.format(this.bounded(merge(this.parse(here), this.parse(given))));
  }

  changes(here: string | null, then: string | null): Change[] {
    const { what, nameOf, wordsOf, format } = this.parts;
    const rowsOf = (text: string | null) =>
      new Map(this.parse(text).map((each) => [nameOf(each), { words: wordsOf(each), all: format([each]) }]));
    return rowChanges(what, rowsOf(here), rowsOf(then));
  }

  /** Of those that share something, the first counts. */
  private bounded(entries: readonly Entry[]): Entry[] {
    const { nameOf, claimOf = nameOf, max } = this.parts;
    const [names, claims] = [new Set<string>(), new Set<string>()];
    const kept = entries.filter((each) => {
      if (names.has(nameOf(each)) || claims.has(claimOf(each))) return false;
      names.add(nameOf(each));
      claims.add(claimOf(each));
      return true;
    });
    return kept.slice(0, max);
  }
}

/** A thing in words, and all of it, which may differ in more than they say. */
interface Row {
  words: string;
  all: string;
}

/** What differs between things, by name. */
export function rowChanges(
  what: string,
  here: ReadonlyMap<string, string | Row>,
  then: ReadonlyMap<string, string | Row>,
): Change[] {
  const names = new Set([...here.keys(), ...then.keys()]);
  return [...names].flatMap((name) => {
    const [before, present] = [rowIn(here, name), rowIn(then, name)];
    if (before?.all === present?.all) return [];
    const after = before?.words === present?.words ? `${present?.words}, other details` : present?.words;
    return [
      { what, name, before: before?.words ?? null, after: after ?? null, replaces: before !== undefined },
    ];
  });
}

function rowIn(rows: ReadonlyMap<string, string | Row>, name: string): Row | undefined {
  const row = rows.get(name);
  return typeof row === "string" ? { words: row, all: row } : row;
}

/** Of a JSON text; no number of entries if it is no list. */
function lengthOf(text: string): number {
  const value = jsonIn(text);
  return Array.isArray(value) ? value.length : Number.NaN;
}

/** The entries of a JSON text that are of a schema. */
export function listIn<Schema extends TSchema>(schema: Schema): (text: string | null) => Static<Schema>[] {
  const known = checkerOf(schema);
  return (text) => {
    const value = jsonIn(text);
    return Array.isArray(value) ? value.filter((each) => known.Check(each)) : [];
  };
}
