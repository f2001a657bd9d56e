import { parseArgs } from "node:util";
import type { NetworkCards } from "../../../src/sandbox/topology.ts";
import { TRANSPORTS } from "../peers/relayed-servers.ts";
import { playFresh } from "./fresh.ts";
import type { Layer } from "./layer.ts";
import type { Row } from "./row.ts";
import { FRESH_SCENARIOS, FURTHER_SCENARIOS, SCENARIOS } from "./scenarios.ts";
import { Stage } from "./stage.ts";

const ALONE = ["routing alone", "firewall alone"] as const;
/** Of the devices that have a column: what each sent by its exit. The others send nothing. */
const EXITS = ["second", "direct"] as const;
const WIDTHS = { scenario: 78, cards: 5, layer: 14, number: 9 };

const { values, positionals } = parseArgs({
  allowPositionals: true,
  options: { json: { type: "boolean" }, transport: { type: "string" } },
});
const asJson = values.json === true;
/** Of main's tunnel. */
const transport = TRANSPORTS.find((each) => each === values.transport) ?? null;
if (transport === null && values.transport !== undefined)
  refuse(`a transport is one of ${TRANSPORTS.join(", ")}`);
const words = positionals.join(" ");
const scenarios = [...SCENARIOS, ...FURTHER_SCENARIOS].filter((scenario) => scenario.name.includes(words));
const freshScenarios =
  transport === null ? FRESH_SCENARIOS.filter((scenario) => scenario.name.includes(words)) : [];
if (scenarios.length + freshScenarios.length === 0) refuse(`no scenario has "${words}" in its name`);
const rows: Row[] = [];
/** Whether the end of a stage with both layers failed. */
let unclosed = false;
if (!asJson) print(["scenario", "cards", "layers", "sent", "tunnelled", "refused", ...EXITS, "leaked"]);
for (const layer of ["both", ...ALONE] as const) {
  await Promise.all(([2, 1] as const).map((cards) => perform(cards, layer)));
}
for (const scenario of freshScenarios) {
  for (const row of await Promise.all(scenario.cards.map((cards) => playFresh(scenario, cards)))) add(row);
}
const proven = rows.filter((row) => row.layer === "both");
const leaked = sum(proven.map((row) => row.leaked));
const broken = proven.filter((row) => row.failure !== null || row.missed > 0).length;
if (asJson) process.stdout.write(`${JSON.stringify({ leaked, rows }, null, 2)}\n`);
else process.stdout.write(closing());
process.exit(leaked === 0 && broken === 0 && !unclosed ? 0 : 1);

function refuse(why: string): never {
  process.stderr.write(`${why}\n`);
  process.exit(2);
}

/** The whole suite on one stage. */
async function perform(cards: NetworkCards, layer: Layer): Promise<void> {
  if (!scenarios.some((scenario) => scenario.cards.includes(cards))) return;
  const stage = await Stage.open(cards, layer, transport);
  try {
    for (const scenario of scenarios.filter((one) => one.cards.includes(cards))) {
      add(await stage.play(scenario));
    }
  } finally {
    // What was missed during a scenario is in its row.
    await stage.close().catch((error: unknown) => {
      process.stderr.write(`${cards} cards, ${layer}: ${String(error)}\n`);
      unclosed ||= layer === "both";
    });
  }
}

function add(row: Row): void {
  rows.push(row);
  if (!asJson) printRow(row);
}

function printRow(row: Row): void {
  const { scenario, cards, layer, sent, tunnelled, refused } = row;
  const served = EXITS.map((exit) => row.devices.find((device) => device.exit === exit)?.served ?? "");
  print([scenario, cards, layer, sent, tunnelled, refused, ...served, row.leaked]);
  // Without a layer a scenario may well fail; what counts there is whether something leaks.
  const wrong = [
    ...(row.leaked > 0 ? row.leaks : []),
    ...(row.missed > 0 ? [`the sniffer missed ${row.missed} frames`] : []),
    ...(row.failure !== null && layer === "both" ? [row.failure] : []),
  ];
  for (const line of wrong) process.stdout.write(`    ${line}\n`);
}

function print([scenario, cards, layer, ...numbers]: readonly (string | number)[]): void {
  const columns = [
    String(scenario).padEnd(WIDTHS.scenario),
    String(cards).padStart(WIDTHS.cards),
    ` ${layer}`.padEnd(WIDTHS.layer + 1),
    ...numbers.map((number) => String(number).padStart(WIDTHS.number)),
  ];
  process.stdout.write(`${columns.join(" ")}\n`);
}

function closing(): string {
  const total = `Both layers: ${proven.length} scenarios, ${sum(proven.map((row) => row.sent))} packets sent, ${leaked} leaked`;
  const wrong = broken === 0 ? "" : `; ${broken} scenarios did not go as they should`;
  return `\n${ALONE.map(held).join("")}${total}${wrong}.\n`;
}

/** Which scenarios one layer holds without the other. */
function held(layer: Layer): string {
  const alone = rows.filter((row) => row.layer === layer);
  // Where nothing was sent, nothing is shown.
  const leaking = alone.filter((row) => row.leaked > 0 || row.sent === 0);
  const names = leaking.map(
    ({ scenario, cards, sent, leaked: here }) =>
      `  not: ${scenario} (${cards === 1 ? "one card" : "two cards"}, ${sent === 0 ? "nothing sent" : `${here} leaked`})\n`,
  );
  const name = `${layer.slice(0, 1).toUpperCase()}${layer.slice(1)}`;
  return `${name} holds ${alone.length - leaking.length} of ${alone.length} scenarios.\n${names.join("")}`;
}

function sum(numbers: readonly number[]): number {
  return numbers.reduce((total, number) => total + number, 0);
}
