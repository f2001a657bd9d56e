import { expect } from "bun:test";
import fc from "fast-check";
import { type Contents, checkedContents } from "../../src/backup/contents.ts";
import { holdingsOf } from "../../src/backup/holdings.ts";
import { changesBy, restoreInto } from "../../src/backup/restore.ts";
import { backedUpAs } from "../../src/backup/settings.ts";
import { isName } from "../../src/base/name.ts";
import { type RuleContext, refuseBeside, ruleIn } from "../../src/destinations/rule-in.ts";
import type { Rule } from "../../src/destinations/rules.ts";
import { DESTINATIONS } from "../../src/destinations/saved.ts";
import { formatExit } from "../../src/devices/exit.ts";
import { parseOrder } from "../../src/devices/exit-order.ts";
import { deviceIdIn, type LimitId, parseLimitId } from "../../src/devices/id.ts";
import { QUOTAS, quotaIn } from "../../src/devices/quota.ts";
import { LIMITS, rateIn } from "../../src/devices/rate.ts";
import { DNS_LISTS, wantedLists } from "../../src/dns/wanted-lists.ts";
import { idIn } from "../../src/forwards/active-forward.ts";
import { FORWARDS } from "../../src/forwards/saved.ts";
import { bodyOf, SCHEDULES, scheduleIn } from "../../src/schedules/schedule.ts";
import { FAVOURITES } from "../../src/servers/favourites.ts";
import { Store } from "../../src/store/store.ts";
import { savedTunnelsIn } from "../../src/tunnel/connection.ts";
import { KEY_WISHES } from "../../src/tunnel/key-wishes.ts";
import { LAST } from "../../src/tunnel/last.ts";
import { parseConfig } from "../../src/wireguard/config.ts";
import { formatConfig } from "../../src/wireguard/config-text.ts";
import { runs, sampled } from "../fast.ts";
import { NOW } from "../servers/example.ts";
import { inDirectory } from "../tunnel/directory.ts";
import { everything } from "./everything.ts";

const MAY = { replace: true, killswitchOff: true, direct: true };
const WHOLE = await everything();

/** What somebody writes in place of a part of a backup, or beside it. */
const odd = fc.constantFrom<unknown>(
  ...[
    "",
    "x",
    "a\nb",
    "\u001b[2J",
    "\u202ex",
    "__proto__",
    "constructor",
    "..",
    "main",
    "blocked",
    "direct",
    "gone",
  ],
  ...[
    "tv.home.arpa",
    "b.example",
    "127.0.0.0/8",
    "198.51.100.0/24",
    "10.8.0.0/24",
    "02:00:00:00:00:40",
    "192.168.7.9",
  ],
  ...[
    "x".repeat(70),
    "x".repeat(5_000),
    "on",
    "off",
    "managed",
    "custom",
    "https://b.example/",
    "se-1",
    "21:00",
  ],
  ...[0, -1, 1, 53, 2, 65_536, 1e300, 0.5, null, true, false],
  ...[[], {}, ["a"], { name: "tv", connection: null }],
);
interface Mutation {
  /** Which of the parts that there are. */
  at: number;
  how: "replaced" | "removed" | "doubled" | "added";
  by: unknown;
}
const mutation: fc.Arbitrary<Mutation> = fc.record({
  at: fc.nat(100_000),
  how: fc.constantFrom("replaced", "replaced", "removed", "doubled", "added"),
  by: odd,
});

interface Part {
  within: Record<string, unknown>;
  key: string;
}

/** All parts of a value, at any depth. */
function partsOf(value: unknown): Part[] {
  if (typeof value !== "object" || value === null) return [];
  const within = value as Record<string, unknown>;
  return Object.keys(within).flatMap((key) => [{ within, key }, ...partsOf(within[key])]);
}

/** The settings of a backup are texts of JSON; here they are what is in them. */
function inside({ settings, ...rest }: Contents): object {
  const values = Object.entries(settings).map(([key, text]) => {
    const isJson = /^[[{]/.test(text);
    return [key, isJson ? JSON.parse(text) : text];
  });
  return structuredClone({ ...rest, settings: Object.fromEntries(values) });
}

function outside({ settings = {}, ...rest }: { settings?: unknown }): unknown {
  if (typeof settings !== "object" || settings === null) return { ...rest, settings };
  const texts = Object.entries(settings).map(([key, value]) => [
    key,
    typeof value === "object" ? JSON.stringify(value) : value,
  ]);
  return { ...rest, settings: Object.fromEntries(texts) };
}

function mutated(mutations: readonly Mutation[]): unknown {
  const value = inside(WHOLE);
  for (const { at, how, by } of mutations) {
    const parts = partsOf(value);
    const { within, key } = parts[at % parts.length] as Part;
    if (how === "removed") delete within[key];
    else if (how === "doubled" && Array.isArray(within)) within.push(structuredClone(within[key]));
    else if (how === "added" && !Array.isArray(within))
      within[typeof by === "string" ? by : "more"] = structuredClone(within[key]);
    else within[key] = structuredClone(by);
  }
  return JSON.parse(JSON.stringify(outside(value)));
}

/** Throws if the interface would not take what the store has. */
function assertPossible(store: Store): void {
  const settings = store.settings();
  const read = (key: string) => settings[key] ?? null;
  const tunnels = ["main", ...savedTunnelsIn(settings).keys()];
  const known = (exit: string) => ({ tunnels: [exit, ...tunnels], directAllowed: true });
  const rules: Rule[] = [];
  for (const rule of DESTINATIONS.parse(read("destinations"))) {
    const here: RuleContext = { exits: known(formatExit(rule.exit)), overlapOf: () => null };
    const body = { names: [...rule.names], prefixes: [...rule.prefixes], devices: [...rule.devices] };
    expect(ruleIn(rule.id, { ...body, exit: formatExit(rule.exit), note: rule.note }, here)).toEqual(rule);
    refuseBeside(rule, rules);
    rules.push(rule);
  }
  for (const each of SCHEDULES.parse(read("schedules")))
    expect(scheduleIn(each.name, bodyOf(each))).toEqual(each);
  for (const { id, rate } of LIMITS.parse(read("limits")))
    expect([rateIn(true, rate), parseLimitId(id)]).toEqual([rate, id as LimitId]);
  for (const { quota } of QUOTAS.parse(read("quotas"))) expect(quotaIn(true, quota)).toEqual(quota);
  for (const each of FORWARDS.parse(read("forwards"))) expect([idIn(each).port, each.port]).not.toContain(53);
  for (const { server } of FAVOURITES.parse(read("favourites"))) expect(isName(server)).toBe(true);
  wantedLists(DNS_LISTS.parse(read("dns_lists")));
  for (const { id, name, exit } of store.devices()) {
    expect(`${deviceIdIn(id)}`).toBe(id);
    expect(name === null || isName(name)).toBe(true);
    expect(exit === null || parseOrder(exit) !== null).toBe(true);
  }
  for (const { name, config } of store.servers()) {
    expect(isName(name)).toBe(true);
    expect(parseConfig(formatConfig(config)).config).toEqual(config);
  }
  for (const name of [
    ...Object.keys(LAST.parse(read("last_targets"))),
    ...Object.keys(KEY_WISHES.parse(read("quantum"))),
  ])
    expect(tunnels).toContain(name);
  for (const [, text] of Object.entries(settings)) expect(text).not.toMatch(/[^\P{Cc}]/u);
}

sampled.test(
  "whatever is in a backup, the preview names what the restore changes, and the interface would take all of it",
  async () => {
    let taken = 0;
    await fc.assert(
      fc.asyncProperty(
        fc.array(mutation, { maxLength: 3 }),
        fc.array(mutation, { maxLength: 2 }),
        async (first, second) => {
          const both = await Promise.all(
            [first, second].map((each) => checkedContents(mutated(each)).catch(() => null)),
          );
          await inDirectory(async (directory) => {
            const store = Store.open(directory, NOW);
            try {
              for (const contents of both) {
                if (contents === null) continue;
                const here = holdingsOf(store);
                let told: ReturnType<typeof changesBy>;
                try {
                  told = changesBy(here, contents, MAY);
                } catch {
                  expect(() => restoreInto(store, contents, MAY)).toThrow();
                  continue;
                }
                restoreInto(store, contents, MAY);
                taken += 1;
                assertPossible(store);
                const then = holdingsOf(store);
                expect(changesBy(then, contents, MAY)).toEqual([]);
                expect(told.length > 0 || Bun.deepEquals(meaning(here), meaning(then))).toBe(true);
                // Of each setting that is another one now, a change was told, or it means what nobody has chosen.
                for (const [key, text] of Object.entries(then.settings)) {
                  const kept = backedUpAs(key);
                  if (kept === null || here.settings[key] === text) continue;
                  const changes = kept.changes(here.settings[key] ?? null, text);
                  for (const change of changes) expect(told).toContainEqual(change);
                  if (changes.length === 0) expect(here.settings[key]).toBeUndefined();
                }
              }
            } finally {
              store.close();
            }
          });
        },
      ),
      { numRuns: runs(100) },
    );
    // Most of what is written by hand is refused.
    expect(taken).toBeGreaterThan(runs(100) / 5);
  },
  120_000,
);

/** What a gateway has, without what counts as not chosen. */
function meaning({ servers, settings, devices }: ReturnType<typeof holdingsOf>): unknown {
  const told = Object.entries(settings).filter(
    ([key, text]) => key !== "exits_written" && (backedUpAs(key)?.changes(null, text).length ?? 1) > 0,
  );
  return { servers, devices, settings: Object.fromEntries(told) };
}
