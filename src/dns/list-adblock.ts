import { parseDomainName } from "../base/domain-name.ts";
import { type Entry, type Meaning, NOT_UNDERSTOOD, type Verdict } from "./list-entry.ts";
import { isNowhere } from "./list-hosts.ts";

/** Exception, anchor, name, and modifiers. What has a path, a port or a wildcard inside it is about more than a name. */
const RULE = /^(@@)?(\|{0,2})([^|^$/:]+)\^?\|?(?:\$(.*))?$/;
/** Without an anchor, a single word may be something else than a top-level domain, which has letters only (RFC 3696, 2). */
const NAME_OR_TOP = /\.|^xn--|^[a-z]{2,}$/;
/** Answers that say that there is nothing. */
const EMPTY_ANSWER = /^(nxdomain|refused|servfail|noerror)(;;)?$/;

/** A rule of adblock's syntax for DNS filters, or a bare name. A rule with a modifier that is not known has no effect. */
export function adblockRule(text: string): Meaning {
  const [, exception, anchor, pattern = "", modifiers] = RULE.exec(text) ?? [];
  const name = parseDomainName(pattern);
  if (name === null || (anchor === "" && !NAME_OR_TOP.test(name))) return NOT_UNDERSTOOD;
  const isOpen = exception !== undefined;
  const known = modifiersIn(modifiers, isOpen);
  if (known === null) return NOT_UNDERSTOOD;
  const { isImportant, isVoid, spared } = known;
  const verdict = `${isOpen ? "open" : "block"}${isImportant ? " always" : ""}` as Verdict;
  const entry = { verdict, name: anchor === "|" ? `|${name}` : name };
  return [isVoid ? { ...entry, isVoid } : entry, ...spared];
}

interface Modifiers {
  isImportant: boolean;
  isVoid: boolean;
  spared: readonly Entry[];
}

const NONE: Modifiers = { isImportant: false, isVoid: false, spared: [] };

/** Null if one of them is not known, or limits the rule to what is no name. */
function modifiersIn(text: string | undefined, isOpen: boolean): Modifiers | null {
  if (text === undefined) return NONE;
  let known = NONE;
  for (const each of text.split(",")) {
    const [what, value = ""] = each.split("=", 2);
    if (what === "important") known = { ...known, isImportant: true };
    else if (what === "badfilter") known = { ...known, isVoid: true };
    else if (isOpen) return null;
    else if (what === "denyallow") {
      const names = value.split("|").map(parseDomainName);
      if (names.includes(null)) return null;
      known = { ...known, spared: names.map((name) => ({ verdict: "spare", name: name ?? "" })) };
    } else if (what === "dnsrewrite" ? !isEmptyAnswer(value) : what !== "all") return null;
  }
  return known;
}

function isEmptyAnswer(value: string): boolean {
  return EMPTY_ANSWER.test(value) || isNowhere(value.replace(/^noerror;a{1,4};/, ""));
}
