import assert from "node:assert/strict";
import { TABLE } from "../../../src/killswitch/ruleset.ts";
import { MAIN_SLOT, tableOf } from "../../../src/network/slot.ts";
import { INTERNET } from "../../../src/sandbox/topology.ts";
import type { Scenario, Stage } from "./stage.ts";

/** Between two removals, so that each is seen alone. */
const STEP_MS = 50;
/** A repair takes some 50 ms, and much longer on a machine with other work; what is not repaired by then never is. */
const REPAIRED_WITHIN_MS = 60_000;
const CHAINS = ["input", "forward", "output"] as const;

/** What someone with root does to main's interface behind the service's back. */
export const TAMPERING_WITH_MAIN: readonly Scenario[] = [
  tampering("the tunnel's process is killed", "connected", async (stage) => {
    for (const pid of await tunnelProcesses(stage)) process.kill(pid, "SIGKILL");
  }),
  tampering("the tunnel's link is deleted", "connected", async (stage) => {
    await stage.inside("ip", "link", "del", "dev", await tunnelLink(stage));
  }),
  tampering("the tunnel's link is taken down", "connected", async (stage) => {
    await stage.inside("ip", "link", "set", "dev", await tunnelLink(stage), "down");
  }),
  tampering("the tunnel's addresses are removed one by one", "connected", async (stage) => {
    const link = await tunnelLink(stage);
    const { stdout } = await stage.inside("ip", "-j", "address", "show", "dev", link);
    const [{ addr_info: addresses }] = JSON.parse(stdout);
    assert.ok(addresses.length >= 2);
    for (const { local, prefixlen } of addresses) {
      await stage.inside("ip", "address", "del", `${local}/${prefixlen}`, "dev", link);
      await Bun.sleep(STEP_MS);
    }
  }),
  tampering("the tunnel's routes are removed one by one", "connected", async (stage) => {
    for (const family of ["-4", "-6"]) {
      await stage.inside("ip", family, "route", "del", "default", "table", String(tableOf(MAIN_SLOT)));
      await Bun.sleep(STEP_MS);
    }
  }),
];

/** The same with what all tunnels share. */
export const TAMPERING: readonly Scenario[] = [
  ...(["connected", "blocked"] as const).flatMap((from) => [
    tampering(`the routing rules are removed one by one while ${from}`, from, async (stage) => {
      for (const [family, priority] of await ownRules(stage)) {
        await stage.inside("ip", family, "rule", "del", "priority", priority);
        await Bun.sleep(STEP_MS);
      }
    }),
    tampering(`nft flush ruleset while ${from}`, from, async (stage) => {
      await stage.inside("nft", "flush", "ruleset");
    }),
    tampering(`the table is deleted while ${from}`, from, async (stage) => {
      await stage.inside("nft", "delete", "table", ...TABLE.split(" "));
    }),
    tampering(`the table is switched off while ${from}`, from, async (stage) => {
      await stage.inside("nft", "add", "table", ...TABLE.split(" "), "{ flags dormant; }");
    }),
    tampering(`the last rule of each chain is deleted while ${from}`, from, async (stage) => {
      for (const chain of CHAINS) {
        const handle = (await handles(stage, chain)).at(-1);
        if (handle === undefined) continue;
        await stage.inside("nft", "delete", "rule", ...TABLE.split(" "), chain, "handle", handle);
        await Bun.sleep(STEP_MS);
      }
    }),
    tampering(`a rule that accepts all is put in front of each chain while ${from}`, from, async (stage) => {
      for (const chain of CHAINS) {
        await stage.inside("nft", "insert", "rule", ...TABLE.split(" "), chain, "accept");
        await Bun.sleep(STEP_MS);
      }
    }),
    tampering(`routing rules of another program come before ours while ${from}`, from, async (stage) => {
      const rules = [
        ["-4", "to", INTERNET.host4],
        ["-6", "to", INTERNET.host6],
      ];
      for (const [family = "", ...selector] of rules) {
        await stage.inside("ip", family, "rule", "add", ...selector, "lookup", "main");
      }
      await stage.observe();
      for (const [family = "", ...selector] of rules) {
        await stage.inside("ip", family, "rule", "del", ...selector, "lookup", "main");
      }
    }),
    tampering(`a table of another program accepts all before ours while ${from}`, from, async (stage) => {
      const chains = CHAINS.map(
        (chain) => `chain ${chain} { type filter hook ${chain} priority -300; policy accept; accept; }`,
      );
      await stage.inside("nft", `table inet stranger { ${chains.join(" ")} }`);
    }),
  ]),
];

/** The service itself restores both layers and the tunnel. */
function tampering(name: string, from: Scenario["from"], tamper: (stage: Stage) => Promise<void>): Scenario {
  return { name, cards: [2, 1], from, run: (stage) => repaired(stage, tamper) };
}

/** Returns once the service has restored what was tampered with; throws if it does not. */
export async function repaired(stage: Stage, tamper: (stage: Stage) => Promise<void>): Promise<void> {
  const { interface: base } = stage.lab.sandbox;
  // For a moment a new tunnel exists next to the former one.
  await until("the former tunnel ends", async () => {
    const listing = await table(stage);
    return !(listing.includes(`${base}0`) && listing.includes(`${base}1`));
  });
  const before = asOneTunnel(await table(stage), base);
  await tamper(stage);
  await stage.observe();
  await until("the table is as it was", async () => asOneTunnel(await table(stage), base) === before);
  await stage.mended();
}

async function until(claim: string, met: () => Promise<boolean>): Promise<void> {
  const deadline = performance.now() + REPAIRED_WITHIN_MS;
  while (!(await met())) {
    assert.ok(performance.now() < deadline, `still not so: ${claim}`);
    await Bun.sleep(STEP_MS);
  }
}

async function table(stage: Stage): Promise<string> {
  return (await stage.inside("nft", "-s", "list", "table", ...TABLE.split(" "))).stdout;
}

/** A listing where both tunnel interfaces have one name; nft lists the elements of sets in no fixed order. */
function asOneTunnel(listing: string, base: string): string {
  return listing
    .replaceAll(`${base}1`, `${base}0`)
    .replace(/ct zone (set |!= )?[12]/g, "ct zone $1N")
    .replaceAll(new RegExp(`[12] \\. "${base}0"`, "g"), `N . "${base}0"`)
    .replace(/\{ ([^{}\n]*) \}/g, (_, elements: string) => elements.split(", ").sort().join(", "));
}

/** The interface that the routes of the tunnel lead to. */
export async function tunnelLink(stage: Stage, slot = MAIN_SLOT): Promise<string> {
  const { stdout } = await stage.inside("ip", "-4", "route", "show", "table", String(tableOf(slot)));
  const [, link] = / dev (\S+)/.exec(stdout) ?? [];
  assert.ok(link !== undefined, "there is no tunnel");
  return link;
}

export async function tunnelProcesses(stage: Stage, slot = MAIN_SLOT): Promise<number[]> {
  const link = await tunnelLink(stage, slot);
  const { stdout } = await stage.lab.outside(["pgrep", "-fx", `wireguard-go ${link}`]);
  return stdout
    .split("\n")
    .filter((line) => line !== "")
    .map(Number);
}

async function ownRules(stage: Stage): Promise<[family: string, priority: string][]> {
  const shown = ["-4", "-6"].map(async (family) => {
    const { stdout } = await stage.inside("ip", "-j", family, "rule", "show");
    const rules = JSON.parse(stdout) as { priority: number }[];
    const own = rules.filter(({ priority }) => priority >= 10 && priority <= 99);
    return own.map(({ priority }): [string, string] => [family, String(priority)]);
  });
  return (await Promise.all(shown)).flat();
}

async function handles(stage: Stage, chain: string): Promise<string[]> {
  const { stdout } = await stage.inside("nft", "-a", "list", "chain", ...TABLE.split(" "), chain);
  return [...stdout.matchAll(/ # handle (\d+)$/gm)].map(([, handle]) => handle ?? "").slice(1);
}
