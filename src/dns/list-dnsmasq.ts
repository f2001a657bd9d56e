import { parseDomainName } from "../base/domain-name.ts";
import { type Meaning, NOT_UNDERSTOOD, type Verdict } from "./list-entry.ts";
import { isNowhere } from "./list-hosts.ts";

/** Names, and what is answered or asked for them, which has no slash: a line of slashes would take a second. */
const OPTION = /^(?:--)?(address|server|local)\s*=\s*\/(\S+)\/([^\s/]*)$/;

/** A line of dnsmasq's configuration (dnsmasq(8)). Undefined if it is none. */
export function dnsmasqLine(text: string): Meaning | undefined {
  const [, option, names = "", value = ""] = OPTION.exec(text) ?? [];
  if (option === undefined) return undefined;
  const verdict = verdictOf(option, value);
  if (verdict === null) return NOT_UNDERSTOOD;
  return names.split("/").flatMap((each) => {
    const name = parseDomainName(each);
    return name === null ? [] : { verdict, name };
  });
}

/** `#` is the unspecified address for `address`, and the usual resolvers for the others. */
function verdictOf(option: string, value: string): Verdict | null {
  if (value === "") return "block";
  if (option === "address") return value === "#" || isNowhere(value) ? "block" : null;
  return value === "#" ? "spare" : null;
}
