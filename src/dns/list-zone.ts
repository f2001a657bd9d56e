import { parseDomainName } from "../base/domain-name.ts";
import { type Meaning, NOT_UNDERSTOOD, type Verdict } from "./list-entry.ts";
import { isNowhere } from "./list-hosts.ts";

/** No part of it can be read in two ways: on a long line, that would take forever. */
const CLASS_OR_TTL = /^(in|\d+|(\d+[smhdw])+\d*)$/;
/** Of these every zone has some. */
const OF_ZONE: ReadonlySet<string> = new Set(["soa", "ns"]);
const ADDRESSES: ReadonlySet<string> = new Set(["a", "aaaa"]);
/** Answers without what was asked for, or none. */
const BLOCKING: ReadonlySet<string> = new Set([".", "*.", "rpz-drop."]);
/** Addresses, and names of name servers and of clients, in place of a name. */
const OTHER_TRIGGER = /\.rpz-(ip|nsip|nsdname|client-ip)$/;

/** A response policy zone (draft-vixie-dnsop-dns-rpz) in the text form of RFC 1035, section 5.1. */
export class ListZone {
  private origin = "";
  private owner = "@";
  private isInside = false;

  /** Whether the line belongs to a record that has begun on one before it. */
  continues(text: string): boolean {
    if (!this.isInside) return false;
    this.isInside = !text.includes(")");
    return true;
  }

  line(text: string, isIndented: boolean): Meaning {
    const words = text.replace(/;.*/, "").trim().split(/\s+/);
    const [first = "", second = ""] = words;
    if (/^\$(ttl|origin)$/.test(first)) {
      if (first === "$origin") this.origin = second.replace(/\.$/, "");
      return null;
    }
    const record = this.recordIn(words, isIndented);
    if (record === null) return NOT_UNDERSTOOD;
    if (!OF_ZONE.has(record.type)) return this.ruleIn(record);
    // The numbers of an SOA record often take a line each.
    this.isInside = text.includes("(") && !text.includes(")");
    if (record.type === "soa" && this.owner.endsWith(".")) this.origin = this.owner.slice(0, -1);
    return null;
  }

  /** An indented record has the owner of the one before it. */
  private recordIn(words: readonly string[], isIndented: boolean) {
    let at = isIndented && isTypeOrBefore(words[0]) ? 0 : 1;
    const owner = at === 0 ? this.owner : (words[0] ?? "");
    while (CLASS_OR_TTL.test(words[at] ?? "")) at += 1;
    const type = words[at] ?? "";
    const data = words.slice(at + 1).join(" ");
    if (!isType(type) || data === "") return null;
    this.owner = owner;
    return { owner, type, data };
  }

  private ruleIn({ owner, type, data }: { owner: string; type: string; data: string }): Meaning {
    const isAbsolute = owner.endsWith(".");
    const below = `.${this.origin}.`;
    const relative = isAbsolute && owner.endsWith(below) ? owner.slice(0, -below.length) : owner;
    const name = OTHER_TRIGGER.test(relative) ? null : parseDomainName(relative);
    const verdict = verdictOf(type, data, owner);
    return name === null || verdict === null ? NOT_UNDERSTOOD : [{ verdict, name }];
  }
}

function verdictOf(type: string, data: string, owner: string): Verdict | null {
  if (ADDRESSES.has(type)) return isNowhere(data) ? "block" : null;
  if (BLOCKING.has(data)) return "block";
  // A name that leads to itself is the older form of it.
  const isSpared = data === "rpz-passthru." || data.replace(/\.$/, "") === owner.replace(/\.$/, "");
  return isSpared ? "spare" : null;
}

function isTypeOrBefore(word = ""): boolean {
  return isType(word) || CLASS_OR_TTL.test(word);
}

function isType(word: string): boolean {
  return word === "cname" || ADDRESSES.has(word) || OF_ZONE.has(word);
}
