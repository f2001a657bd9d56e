/**
 * Messages in the part of ICU MessageFormat that the page and the gateway use: `{name}`, `{name, number}`,
 * `{name, select, …}`, `{name, plural, …}` with `#`, and `<tag>…</tag>`. Nothing is quoted: an apostrophe is one.
 */

type Part =
  | string
  | { kind: "value" | "number"; name: string }
  | { kind: "select" | "plural"; name: string; options: ReadonlyMap<string, readonly Part[]> }
  | { kind: "tag"; name: string; parts: readonly Part[] }
  | { kind: "count" };

/** How a language counts, and writes numbers. */
export interface Counting {
  pluralOf: (count: number) => string;
  numberText: (value: number) => string;
}

export type Message = readonly Part[];

/** The message with its values, which may be elements; a tag's value is a function that makes an element of its content. */
export function formatMessage<T>(
  message: Message,
  values: Readonly<Record<string, unknown>>,
  counting: Counting,
): string | T | (string | T)[] {
  return joined(message.flatMap((part) => formattedPart<T>(part, { values, counting, count: 0 })));
}

interface Scope {
  values: Readonly<Record<string, unknown>>;
  counting: Counting;
  /** What `#` stands for. */
  count: number;
}

function formattedPart<T>(part: Part, scope: Scope): (string | T)[] {
  if (typeof part === "string") return [part];
  const { values, counting, count } = scope;
  if (part.kind === "count") return [counting.numberText(count)];
  const value = values[part.name];
  switch (part.kind) {
    case "value":
      return [typeof value === "number" ? String(value) : (value as T)];
    case "number":
      return [counting.numberText(Number(value))];
    case "tag":
      return [
        (value as (inner: unknown) => T)(joined(part.parts.flatMap((each) => formattedPart<T>(each, scope)))),
      ];
    case "select":
      return chosen<T>(part.options, [`${value}`], scope);
    case "plural": {
      const number = Number(value);
      return chosen<T>(part.options, [`=${number}`, counting.pluralOf(number)], { ...scope, count: number });
    }
  }
}

function chosen<T>(
  options: ReadonlyMap<string, readonly Part[]>,
  names: readonly string[],
  scope: Scope,
): (string | T)[] {
  const name = names.find((each) => options.has(each)) ?? "other";
  return (options.get(name) ?? []).flatMap((each) => formattedPart<T>(each, scope));
}

function joined<T>(parts: readonly (string | T)[]): string | T | (string | T)[] {
  if (parts.every((each) => typeof each === "string")) return parts.join("");
  return parts.length === 1 ? (parts[0] as T) : [...parts];
}

const VALUE = /\{\s*(\w+)\s*(?:,\s*(number)\s*)?\}/y;
const CHOICE = /\{\s*(\w+)\s*,\s*(select|plural)\s*,/y;
const OPTION = /\s*(=?\w+)\s*\{/y;
const END = /\s*\}/y;
const OPENING = /<([a-z]+)>/y;
const CLOSING = /<\/[a-z]+>/y;

/** Reads a message from its beginning to its end. */
class Reader {
  private at = 0;

  constructor(private readonly text: string) {}

  /** Until what ends the option or the tag that it is in. */
  parts(isCounted: boolean): Part[] {
    const parts: Part[] = [];
    let literal = "";
    while (this.at < this.text.length && this.text[this.at] !== "}" && !this.isAt(CLOSING)) {
      const part = this.special(isCounted);
      if (part === null) literal += this.text[this.at++];
      else {
        if (literal !== "") parts.push(literal);
        literal = "";
        parts.push(part);
      }
    }
    return literal === "" ? parts : [...parts, literal];
  }

  private special(isCounted: boolean): Part | null {
    const value = this.take(VALUE);
    if (value !== null) return { kind: value[2] === undefined ? "value" : "number", name: value[1] ?? "" };
    const choice = this.take(CHOICE);
    if (choice !== null) return this.choice(choice[1] ?? "", choice[2] as "select" | "plural", isCounted);
    const tag = this.take(OPENING);
    if (tag !== null) {
      const parts = this.parts(isCounted);
      this.take(CLOSING);
      return { kind: "tag", name: tag[1] ?? "", parts };
    }
    if (!isCounted || this.text[this.at] !== "#") return null;
    this.at += 1;
    return { kind: "count" };
  }

  private choice(name: string, kind: "select" | "plural", isCounted: boolean): Part {
    const options = new Map<string, readonly Part[]>();
    for (let option = this.take(OPTION); option !== null; option = this.take(OPTION)) {
      options.set(option[1] ?? "", this.parts(isCounted || kind === "plural"));
      this.take(END);
    }
    this.take(END);
    return { kind, name, options };
  }

  private isAt(pattern: RegExp): boolean {
    pattern.lastIndex = this.at;
    return pattern.test(this.text);
  }

  private take(pattern: RegExp): RegExpExecArray | null {
    pattern.lastIndex = this.at;
    const found = pattern.exec(this.text);
    if (found !== null) this.at = pattern.lastIndex;
    return found;
  }
}

export function parseMessage(text: string): Message {
  return new Reader(text).parts(false);
}

/** The names that a message needs, those of `{name}` and `{name, plural, …}`. Each option of a choice is a text of several words. */
export type MessageNames<Text extends string> = Text extends `${string}{${infer Rest}`
  ? NameAt<Rest> | MessageNames<Rest>
  : never;

type NameAt<Rest extends string> = Rest extends `${infer Head}}${string}`
  ? Head extends `${infer Name},${string}`
    ? Word<Name>
    : Word<Head>
  : never;

type Word<Text extends string> = Text extends "" | `${string}${" " | "{"}${string}` ? never : Text;
