import answersText from "../../golden/answers.txt" with { type: "text" };

/** What a gateway has answered to a `GET`. */
export interface Recorded {
  status: number;
  body: unknown;
}

type Row = Readonly<Record<string, unknown>>;

const DAY_MS = 24 * 3_600_000;
const UTC_DAYS = ["sun", "mon", "tue", "wed", "thu", "fri", "sat"];
const TIME = /^\d{4}-\d\d-\d\dT[\d:.]+Z$/;

/** The answers of the goldens by path, as if the home had been played just now. */
export function recordedAt(now: number): ReadonlyMap<string, Recorded> {
  // The home is played within two minutes; its checks are among the last that it is asked for.
  const played = Date.parse(/"checked_at": "(.+)"/.exec(answersText)?.[1] ?? "");
  return answersIn((text) => JSON.parse(text, moved));

  function moved(this: Row, _: string, value: unknown): unknown {
    if (typeof value !== "string" || !TIME.test(value)) return value;
    const at = Date.parse(value);
    return new Date(at <= played ? at + now - played : nextLike(at, now, this.days)).toISOString();
  }
}

/** What is to come keeps its time of day and its days, as a schedule has them. */
function nextLike(at: number, now: number, days: unknown): number {
  const next = at + Math.ceil((now - at) / DAY_MS) * DAY_MS;
  if (!Array.isArray(days) || days.includes(UTC_DAYS[new Date(next).getUTCDay()])) return next;
  return nextLike(at, now + DAY_MS, days);
}

function answersIn(parse: (text: string) => unknown): Map<string, Recorded> {
  const parts = answersText.split(/^GET /m).slice(1);
  return new Map(
    parts.map((part) => {
      const [, path = "", status, text = ""] = /^(\S+)\n(\d+) ([\s\S]*)$/.exec(part) ?? [];
      return [path, { status: Number(status), body: parse(text) }];
    }),
  );
}
