import { parseAddress, unmapped } from "../base/address.ts";
import { ACCOUNT_NUMBER } from "../base/secrets.ts";

/** WireGuard keys, and other long secrets in base64. */
const KEY = /[A-Za-z0-9+/]{40,}={0,2}/g;
const MAC = /\b[0-9a-f]{2}(?:[:-][0-9a-f]{2}){5}\b/gi;
/** A possible address, including one with an IPv4 address at its end; `parseAddress` decides. */
const ADDRESS = /[0-9a-f]*:[0-9a-f:]*:\d+\.\d+\.\d+\.\d+|[0-9a-f]*:[0-9a-f:]*|\d+\.\d+\.\d+\.\d+/gi;
const HOST =
  /[a-z0-9](?:[a-z0-9-]*[a-z0-9])?(?:\.[a-z0-9](?:[a-z0-9-]*[a-z0-9])?)*\.[a-z][a-z0-9-]*[a-z0-9]/gi;
const WORD = /[\p{L}\p{N}](?:[\p{L}\p{N}_.-]*[\p{L}\p{N}_])?/gu;
/** Endings of files and units, and the beginnings of sysctls: they look like host names. */
const NOT_HOSTS = /^net\.|\.(conf|service|target|env|json|db|sock|socket|lease|leases|txt|timer|mount)$/i;
/** Addresses that identify nobody. */
const ANYONES = /^(127\.|0\.0\.0\.0$|255\.255\.255\.255$|::1?$|fe80::$)/;

type Kind = "KEY" | "ACCOUNT" | "MAC" | "ADDRESS" | "HOST" | "NAME";

/**
 * Replaces the words that identify a home or its accounts by placeholders. The same text always gets the same
 * placeholder.
 */
export class Anonymous {
  private readonly known = new Map<string, string>();
  private readonly counts = new Map<Kind, number>();
  private readonly words: ReadonlySet<string>;
  /** Names that are not single words, the longest first. */
  private readonly phrases: readonly string[];

  constructor(names: readonly string[]) {
    const isWord = (name: string) => name.match(WORD)?.[0] === name;
    this.words = new Set(names.filter(isWord).map((name) => name.toLowerCase()));
    this.phrases = names.filter((name) => !isWord(name)).toSorted((a, b) => b.length - a.length);
  }

  text(text: string): string {
    let left = text.replace(KEY, (key) => this.placeholder("KEY", key));
    left = left.replace(ACCOUNT_NUMBER, (number) => this.placeholder("ACCOUNT", number));
    left = left.replace(MAC, (mac) => this.placeholder("MAC", mac.toLowerCase()));
    for (const phrase of this.phrases) left = left.replaceAll(phrase, () => this.placeholder("NAME", phrase));
    left = left.replace(ADDRESS, (address) => this.address(address));
    left = left.replace(WORD, (word) =>
      this.isName(word) ? this.placeholder("NAME", word.toLowerCase()) : word,
    );
    return left.replace(HOST, (host) =>
      NOT_HOSTS.test(host) ? host : this.placeholder("HOST", host.toLowerCase()),
    );
  }

  private isName(word: string): boolean {
    return this.words.has(word.toLowerCase());
  }

  /** A word and a colon may come before an address, and a colon after it. */
  private address(text: string): string {
    const colon = text.indexOf(":") + 1;
    const bare = text.replace(/(?<!:):$/, "");
    const address = parseAddress(bare);
    if (address === null)
      return colon === 0 ? text : `${text.slice(0, colon)}${this.address(text.slice(colon))}`;
    if (ANYONES.test(address)) return text;
    return `${this.placeholder("ADDRESS", unmapped(address))}${text.slice(bare.length)}`;
  }

  private placeholder(kind: Kind, text: string): string {
    const key = `${kind} ${text}`;
    const known = this.known.get(key);
    if (known !== undefined) return known;
    const count = (this.counts.get(kind) ?? 0) + 1;
    this.counts.set(kind, count);
    this.known.set(key, `${kind}-${count}`);
    return `${kind}-${count}`;
  }
}
