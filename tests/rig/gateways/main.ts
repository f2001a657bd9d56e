import { parseArgs } from "node:util";
import { type Cables, elsewhere } from "./cables.ts";
import { EVENTS } from "./events.ts";
import type { Gateway } from "./gateway.ts";
import { GATEWAYS } from "./known.ts";
import { type Event, judged, type Verdict } from "./trial.ts";

const [CONTROL] = GATEWAYS;
const EVENT_WIDTH = 60;
const CELL_WIDTH = 16;
const NOT_CLAIMED = "–";

const text = { type: "string" } as const;
const { values, positionals: words } = parseArgs({
  options: { cables: text, connect: text, disconnect: text, reboot: text },
  allowPositionals: true,
});
const cables = cablesIn(values.cables);
const isAsked = (name: string) => words.length === 0 || words.some((word) => name.includes(word));
const asked = cables === null ? GATEWAYS.filter(({ name }) => isAsked(name)) : [];
const { gateways, events } = chosen();
if (events.length === 0) {
  process.stderr.write(`no gateway and nothing that happens has "${words.join('" or "')}" in its name\n`);
  process.exit(2);
}
print(
  "devices/gateway itself",
  gateways.map(({ name }) => name),
  "",
);
const isAlone = cables !== null;
let isBroken = false;
for (const event of events) {
  const verdicts: (Verdict | string)[] = [];
  for (const gateway of gateways) verdicts.push(await verdictOf(gateway, event));
  const [control] = verdicts;
  const shown =
    !isAlone && typeof control === "object" && control.devices + control.own === 0 ? "shows nothing" : "";
  print(event.name, verdicts.map(cell), shown);
  for (const [index, verdict] of verdicts.entries()) explain(gateways[index], verdict);
}
process.exit(isBroken ? 1 : 0);

function cablesIn(names: string | undefined): Cables | null {
  if (names === undefined) return null;
  const [lan = "", uplink = ""] = names.split(",");
  if (lan === "" || uplink === "" || lan === uplink) throw new Error("--cables takes LAN,UPLINK: two cards");
  return { lan, uplink };
}

/** Words that name no gateway select by what happens. */
function chosen() {
  if (cables !== null)
    return {
      gateways: [elsewhere(values)],
      events: EVENTS.filter((one) => one.isOutside && isAsked(one.name)),
    };
  if (asked.length === 0) return { gateways: GATEWAYS, events: EVENTS.filter(({ name }) => isAsked(name)) };
  return { gateways: GATEWAYS.filter((one) => one === CONTROL || asked.includes(one)), events: EVENTS };
}

async function verdictOf(gateway: Gateway, event: Event): Promise<Verdict | string> {
  if (event.claim !== undefined && gateway !== CONTROL && !gateway.claims.includes(event.claim))
    return NOT_CLAIMED;
  return judged(gateway, event, cables).catch((error: unknown) => {
    isBroken = true;
    return error instanceof Error ? error.message : String(error);
  });
}

function cell(verdict: Verdict | string): string {
  if (typeof verdict === "object")
    return verdict.devices + verdict.own === 0 ? "0" : `${verdict.devices}/${verdict.own}`;
  return verdict === NOT_CLAIMED ? verdict : "failed";
}

/** On the other output, so that the table can be kept alone. */
function explain(gateway: Gateway | undefined, verdict: Verdict | string): void {
  if (verdict === NOT_CLAIMED) return;
  const lines = typeof verdict === "object" ? verdict.examples : [verdict];
  for (const line of lines) process.stderr.write(`    ${gateway?.name}: ${line}\n`);
}

function print(first: string, cells: readonly string[], last: string): void {
  const columns = cells.map((text) => text.padStart(CELL_WIDTH));
  process.stdout.write(`${[first.padEnd(EVENT_WIDTH), ...columns, ` ${last}`].join("").trimEnd()}\n`);
}
