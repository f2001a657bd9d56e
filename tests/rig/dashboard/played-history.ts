import { Database } from "bun:sqlite";
import type { Rig } from "./rig.ts";

const MINUTE_MS = 60_000;
const MINUTES_PER_HOUR = 60;
/** A day, and some of two months. */
const MINUTES = 1_440;
const HOURS = 1_464;
/** What each device has of the tunnel's traffic. */
const SHARES = [0.6, 0.3, 0.1];
/** How long before now, in minutes. */
const OUTAGES = [
  [38, 34],
  [400, 370],
  [30_000, 29_600],
] as const;

/** Two months of a home in the gateway's database, with outages of `main`. The gateway must not run. */
export function playHistory({ lab }: Rig): void {
  const database = new Database(`${lab.sandbox.directory}/state/portcullis.db`);
  const now = Math.floor(Date.now() / MINUTE_MS);
  const subjects: [kind: string, name: string, share: number][] = [
    ["tunnel", "main", 1],
    ...lab.sandbox.computers.map(({ mac }, index): [string, string, number] => [
      "device",
      mac,
      SHARES[index] ?? 0,
    ]),
  ];
  database.transaction(() => {
    const event = database.query("INSERT INTO events (at, content) VALUES ($at, $content)");
    for (const [from, until] of OUTAGES.toReversed())
      for (const [ago, state] of [
        [from, "reconnecting"],
        [until, "connected"],
      ] as const) {
        const where = { tunnel: "main", state, server: "box-vpn-1", location: "Gothenburg, Sweden" };
        const error = state === "connected" ? null : "the server has not answered for 3 minutes";
        const content = JSON.stringify({ type: "tunnel_state", ...where, error });
        event.run({ $at: (now - ago) * MINUTE_MS, $content: content });
      }
    for (const [index, [kind, name, share]] of subjects.entries()) {
      database
        .query("INSERT OR REPLACE INTO history_subjects VALUES ($id, $kind, $name)")
        .run({ $id: index + 1, $kind: kind, $name: name });
      const insert = (table: string) =>
        database.query(`INSERT OR REPLACE INTO ${table} VALUES ($at, $subject, $rx, $tx)`);
      const [minutes, hours] = [insert("history_minutes"), insert("history_hours")];
      const row = (at: number, minutesAgo: number, length: number) => {
        const rx = Math.round(share * length * bytesAt(-minutesAgo));
        return { $at: at, $subject: index + 1, $rx: rx, $tx: Math.round(rx / 12) };
      };
      for (let ago = MINUTES; ago > 0; ago--) if (!isOut(ago)) minutes.run(row(now - ago, ago, 1));
      const hour = Math.floor(now / MINUTES_PER_HOUR);
      for (let ago = HOURS; ago > 0; ago--)
        hours.run(row(hour - ago, ago * MINUTES_PER_HOUR, MINUTES_PER_HOUR));
    }
  })();
  database.close();
}

function isOut(ago: number): boolean {
  return OUTAGES.some(([from, until]) => ago <= from && ago > until);
}

/** As if it were evening now, whatever the time is, so that each run has the same; most in the evenings. */
function bytesAt(minute: number): number {
  const evening = 1 + Math.cos(((minute % MINUTES) / MINUTES - 0.85) * 2 * Math.PI);
  const noise = Math.abs(Math.sin(minute * 12.9898) * 43_758.5453) % 1;
  return (0.15 + evening) * (0.4 + noise) * 12_000_000;
}
