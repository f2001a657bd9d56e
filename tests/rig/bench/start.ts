import { readFileSync, writeFileSync } from "node:fs";
import type { Lab } from "../tools/lab.ts";
import { now } from "./clock.ts";
import { atMost, type Goal, type Measurement, measurementOf, median } from "./measure.ts";
import type { Portcullis } from "./portcullis.ts";

/** In milliseconds, on two cores with warm caches. */
const AIMS = { killSwitch: atMost(80), health: atMost(100) };
/** How much later a start may be with many managed servers. */
const LATER = 1.2;
/** Providers have fewer than 10,000. */
const MANY_SERVERS = 20_000;
/** The kernel's own rules: local addresses, `main` and `default`. */
const KERNELS_PRIORITIES = [0, 32_766, 32_767];

interface Round {
  killSwitchMs: number;
  healthMs: number;
}

/**
 * From the start of the process, on a machine that forwards everything, to the first refusal and to `/health`; in turns
 * with the sandbox's few managed servers and with many.
 */
export async function measureStart(
  side: Portcullis,
  rounds: number,
  servers = MANY_SERVERS,
): Promise<Measurement[]> {
  const file = side.lab.sandbox.files.managedList;
  const few = readFileSync(file, "utf8");
  const texts = { few, many: textOfMany(servers) };
  const found: Record<keyof typeof texts, Round[]> = { few: [], many: [] };
  // A tunnel that is up is adopted before the kill switch is replaced.
  await side.disconnect();
  for (let round = 0; round < rounds; round += 1) {
    for (const which of ["few", "many"] as const) {
      writeFileSync(file, texts[which]);
      found[which].push(await startOnce(side));
    }
  }
  writeFileSync(file, few);
  const lines = (name: string, of: (round: Round) => number, aim: Goal): Measurement[] => {
    const [alone, many] = [found.few.map(of), found.many.map(of)];
    const latest = LATER * median(alone);
    const later: Goal = { text: `≤ ${LATER} × as long`, met: (ms) => ms <= latest };
    return [
      measurementOf({ name, unit: "ms", portcullis: alone, aim }),
      measurementOf({
        ...{ name: `${name}, with ${servers} managed servers`, unit: "ms" },
        ...{ portcullis: many, aim: later },
      }),
    ];
  };
  return [
    ...lines("start to the kill switch, at the LAN", ({ killSwitchMs }) => killSwitchMs, AIMS.killSwitch),
    ...lines("start to the first answer on /health", ({ healthMs }) => healthMs, AIMS.health),
  ];
}

async function startOnce(side: Portcullis): Promise<Round> {
  await side.gateway.kill("SIGTERM");
  await takeDown(side.lab);
  const seen = Promise.all([side.computer.look("refusal"), side.computer.callUntil200(side.url("/health"))]);
  const startedAt = now();
  side.gateway.launch();
  const [refusedAt, healthyAt] = await seen;
  return { killSwitchMs: refusedAt - startedAt, healthMs: healthyAt - startedAt };
}

/** The kill switch outlives the service: a machine that never had it is made by hand. */
export async function takeDown(lab: Lab): Promise<void> {
  const { gateway } = lab.namespaces;
  await lab.exec(gateway, ["nft", "flush", "ruleset"]);
  for (const family of ["-4", "-6"]) {
    const priorities = await addedPriorities(lab, family);
    const deletions = priorities.map((priority) => `rule del priority ${priority}\n`).join("");
    await lab.exec(gateway, ["ip", family, "-batch", "-"], deletions);
    const left = await addedPriorities(lab, family);
    if (left.length > 0) throw new Error(`routing rules are left: ${left.join(", ")}`);
  }
}

async function addedPriorities(lab: Lab, family: string): Promise<number[]> {
  const { stdout } = await lab.exec(lab.namespaces.gateway, ["ip", "-j", family, "rule", "show"]);
  const rules: { priority: number }[] = JSON.parse(stdout);
  return rules.map(({ priority }) => priority).filter((priority) => !KERNELS_PRIORITIES.includes(priority));
}

/** A list in the gateway's own format. */
function textOfMany(count: number): string {
  const servers = Array.from({ length: count }, (_, number) => ({
    hostname: `server-${number}`,
    country: `Country ${number % 90}`,
    city: `City ${number % 700}`,
    ipv4: `198.18.${number >> 8}.${number & 0xff}`,
    port: 51820,
    public_key: Buffer.alloc(32, `${number}.`).toString("base64"),
  }));
  return JSON.stringify({ servers });
}
