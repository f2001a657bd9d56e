import { ipv6Of } from "../network/host-network.ts";
import type { Host } from "../system/host.ts";
import { type Rule as KernelRule, showRules } from "../system/ip.ts";
import { INTO_MAIN, PRIORITY, type Rule, sameRule, TCP, UDP } from "./routing-rules.ts";

/**
 * All rules with these priorities are the gateway's; any other rule there is removed. They come before other programs'
 * rules (Tailscale's begin at 5210) and `main` (32766). A rule that is added without a priority gets the one below the
 * lowest: these begin above 1, so that such a rule does not share priority 0 with the kernel's own and can be removed by
 * its priority.
 */
const OWN = { first: 10, last: 99 };
/** The same, for messages. */
export const OWN_NUMBERS = `${OWN.first} to ${OWN.last}`;

/** The rules of version 0.1, which a running gateway still has when it is upgraded. Their mark identifies them. */
const FORMER = { first: 100, last: 106, mark: "fwmark 0x504c " };

const WHOLE_PORT = "0xffff";

/** Our rules in the kernel, in the form of `rulesFor`. */
export async function readRules(host: Host): Promise<Rule[]> {
  return (await readAllRules(host)).ours;
}

/** Our rules, and those of other programs before them, without the kernel's own first rule for local addresses. */
export interface ShownRules {
  ours: Rule[];
  ahead: Rule[];
}

export async function readAllRules(host: Host): Promise<ShownRules> {
  const [v4, v6] = await Promise.all([shownRules(host, 4), shownRules(host, 6)]);
  return {
    ours: [...oursOf(4, v4), ...oursOf(6, v6)],
    ahead: [...aheadOf(4, v4), ...aheadOf(6, v6)],
  };
}

/** Rules of another program with our priorities. Once the gateway's rules are in place there are none: it removes them. */
export function foreignAmong(rules: readonly Rule[]): Rule[] {
  const own = rules.filter(({ priority }) => priority <= OWN.last);
  const isOurs = own.some(({ priority, text }) => priority === PRIORITY.own && text.endsWith(INTO_MAIN));
  return isOurs ? [] : own;
}

/** Replaces our rules in the kernel by `wanted`, older ones not before `ready` has resolved; returns the number of changes. */
export async function applyRules(
  host: Host,
  wanted: readonly Rule[],
  ready: Promise<unknown> | null = null,
): Promise<number> {
  const present = await readRules(host);
  if (present.length > 0) await ready;
  const changes = ([4, 6] as const).map((family) =>
    ruleChanges(
      present.filter((rule) => rule.family === family),
      wanted.filter((rule) => rule.family === family),
    ),
  );
  const outcomes = await Promise.allSettled(
    changes.map((lines, index) =>
      lines.length === 0
        ? null
        : // One batch per family: `ip rule add` takes the family only from the command line.
          host.run(["ip", index === 0 ? "-4" : "-6", "-batch", "-"], { stdin: `${lines.join("\n")}\n` }),
    ),
  );
  for (const outcome of outcomes) if (outcome.status === "rejected") throw outcome.reason;
  return changes.flat().length;
}

/**
 * `ip -batch` lines of one family. Missing rules are added first, so that nothing is permitted in between. The kernel
 * deletes the first rule that matches the given selectors, and another program's rule may match ours or have no
 * selector: a priority with a surplus rule is emptied by number and filled again.
 */
export function ruleChanges(present: readonly Rule[], wanted: readonly Rule[]): string[] {
  const missing = wanted.filter((rule) => !present.some((other) => sameRule(rule, other)));
  const surplus = present.filter((rule) => !wanted.some((other) => sameRule(rule, other)));
  const mixed = new Set(surplus.map((rule) => rule.priority));
  return [
    ...missing.filter((rule) => !mixed.has(rule.priority)).map((rule) => `rule add ${lineOf(rule)}`),
    ...present.filter((rule) => mixed.has(rule.priority)).map((rule) => `rule del priority ${rule.priority}`),
    ...wanted.filter((rule) => mixed.has(rule.priority)).map((rule) => `rule add ${lineOf(rule)}`),
  ];
}

/** How many rules are in only one of the two. */
export function ruleDifferences(one: readonly Rule[], other: readonly Rule[]): number {
  const without = (rules: readonly Rule[], those: readonly Rule[]) =>
    rules.filter((rule) => !those.some((that) => sameRule(rule, that))).length;
  return without(one, other) + without(other, one);
}

function lineOf({ priority, text }: Rule): string {
  return `priority ${priority} ${text}`;
}

function shownRules(host: Host, family: 4 | 6): Promise<KernelRule[]> {
  return showRules(host, family).catch(async (error: unknown) => {
    if (family === 6 && (await ipv6Of(host)) === "missing") return [];
    throw error;
  });
}

function oursOf(family: 4 | 6, shown: readonly KernelRule[]): Rule[] {
  const rules = shown.map((rule) => ({ family, priority: rule.priority, text: textOf(family, rule) }));
  const within = ({ first, last }: { first: number; last: number }) =>
    rules.filter(({ priority }) => priority >= first && priority <= last);
  const former = within(FORMER);
  const isFormer = former.some(({ text }) => text.startsWith(FORMER.mark));
  // The last rules come first: the rules that identify them are removed after the others.
  return [...within(OWN), ...(isFormer ? former.toReversed() : [])];
}

function aheadOf(family: 4 | 6, rules: readonly KernelRule[]): Rule[] {
  return rules
    .filter(({ priority, table }) => priority < OWN.first && !(priority === 0 && table === "local"))
    .map((rule) => ({ family, priority: rule.priority, text: textOf(family, rule) }));
}

function textOf(family: 4 | 6, rule: KernelRule): string {
  const { priority: _, not, src, srclen, dst, dstlen, table, action, suppress_prefixlen, ...others } = rule;
  const { iif_detached, oif_detached, ipproto, fwmark, fwmask, sport_mask, dport_mask, ...selectors } =
    others;
  const masks: Record<string, string | undefined> = { sport: sport_mask, dport: dport_mask };
  const words = [
    ...(not === undefined ? [] : ["not"]),
    ...(src !== undefined && src !== "all" ? [`from ${src}/${srclen ?? (family === 4 ? 32 : 128)}`] : []),
    ...(dst !== undefined ? [`to ${dst}/${dstlen ?? (family === 4 ? 32 : 128)}`] : []),
    ...(ipproto !== undefined ? [`ipproto ${numberOf(ipproto)}`] : []),
    ...(fwmark !== undefined ? [`fwmark ${fwmark}${fwmask === undefined ? "" : `/${fwmask}`}`] : []),
    ...Object.entries(selectors).map(([name, value]) =>
      value === null ? name : `${name} ${value}${maskOf(masks[name])}`,
    ),
    ...(suppress_prefixlen !== undefined ? [`suppress_prefixlength ${suppress_prefixlen}`] : []),
    action ?? `lookup ${table}`,
  ];
  return words.join(" ");
}

/** Kernels from 6.15 on print the mask of a port even if it is the whole port. */
function maskOf(mask: string | undefined): string {
  return mask === undefined || mask === WHOLE_PORT ? "" : `/${mask}`;
}

/** `udp` with /etc/protocols, otherwise `ipproto-17`. */
function numberOf(ipproto: string): string {
  const known: Record<string, number> = { udp: UDP, tcp: TCP };
  return String(known[ipproto] ?? ipproto.replace("ipproto-", ""));
}
