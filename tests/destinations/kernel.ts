import { type Address, bytesOf, contains, parsePrefix } from "../../src/base/address.ts";
import { chainsListed, elementsOf } from "../../src/killswitch/listing.ts";
import type { Policy } from "../../src/killswitch/policy.ts";
import { rulesetOf } from "../../src/killswitch/ruleset.ts";

/** A match of a rule for destinations: what is compared, a mask, whether it must differ, and with what. */
const MATCH = /(ether saddr|ip saddr|ip daddr|meta iiftype) (?:& (\S+) )?(!= )?(\{[^}]*\}|\S+) /g;

type Packet = { mac: string; from: Address; to: Address };

/** Finds the exit of a packet by the rules for destinations, as the kernel goes through them; `own` if none holds. */
export function kernelWith(policy: Policy): (packet: Packet) => string {
  const chains = chainsListed(rulesetOf(policy));
  const holds = (matches: string, values: Record<string, string>) =>
    [...matches.matchAll(MATCH)].every(([, field = "", mask, differs, operand = ""]) => {
      const value = mask === undefined ? (values[field] ?? "") : masked(values[field] ?? "", mask);
      const elements = operand.startsWith("@")
        ? elementsOf(operand.slice(1), chains)
        : operand.replace(/[{}]/g, "").trim().split(", ");
      return elements.some((each) => isIn(value, each)) !== (differs !== undefined);
    });
  const through = (chain: string, values: Record<string, string>): string => {
    for (const rule of chains.get(chain) ?? []) {
      const [, matches = "", verdict, target = ""] = /^(.*?)(goto|return)(?: (\S+))?/.exec(rule) ?? [];
      if (verdict === undefined || !holds(matches, values)) continue;
      if (verdict === "return") return "own";
      const [, exit] = /^(?:leave_by|exit)_(\S+)$/.exec(target) ?? [];
      return exit ?? through(target, values);
    }
    return "own";
  };
  const [start] = [...chains.values()]
    .flat()
    .flatMap((rule) => /^meta nfproto ipv4 jump (\S+_to_ipv4)/.exec(rule)?.[1] ?? []);
  return ({ mac, from, to }) => {
    const values = { "ether saddr": mac, "ip saddr": from, "ip daddr": to, "meta iiftype": "ether" };
    return start === undefined ? "own" : through(start, values);
  };
}

function masked(value: string, mask: string): string {
  const [bytes, bits] = [value, mask].map((each) => bytesOf(each as Address));
  return [...(bytes ?? [])].map((byte, at) => byte & (bits?.[at] ?? 0)).join(".");
}

function isIn(value: string, element: string): boolean {
  const prefix = element.includes("/") ? parsePrefix(element) : null;
  return prefix === null ? value === element : contains(prefix, value as Address);
}
