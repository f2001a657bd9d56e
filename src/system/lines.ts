import { nextTurn } from "../base/queue.ts";
import type { LineLimit } from "./host.ts";

/**
 * What is handled in one turn of the event loop: some milliseconds on a Pi. The end of the firewall's table is reported
 * in fewer lines, so that its repair waits for no further turn.
 */
const MAX_LINES_A_TURN = 1_000;
/** The rest of a longer line is cut off. */
const MAX_LINE_CHARS = 65_536;
const PERIOD_MS = 100;

/**
 * Calls back for each line of a stream, in slices, between which the event loop goes round. While nothing is read, the
 * pipe fills, and the program that prints waits.
 */
export async function readLines(
  stream: AsyncIterable<Uint8Array>,
  onLine: (line: string) => void,
  limit?: LineLimit,
): Promise<void> {
  const decoder = new TextDecoder();
  const pace = limit && new Pace(limit);
  let rest = "";
  for await (const chunk of stream) {
    const lines = (rest + decoder.decode(chunk, { stream: true })).split("\n");
    rest = (lines.pop() ?? "").slice(0, MAX_LINE_CHARS);
    const most = pace?.admitted(lines.length) ?? lines.length;
    for (let at = 0; at < most; at += MAX_LINES_A_TURN) {
      if (at > 0) await nextTurn();
      for (const line of lines.slice(at, Math.min(most, at + MAX_LINES_A_TURN))) onLine(line);
    }
    if (most < lines.length) await pace?.drop();
  }
}

class Pace {
  private period = { since: Number.NEGATIVE_INFINITY, lines: 0 };
  /** Whether what comes now waited while nothing was read: then it may be older than what has been looked up since. */
  private isBehind = false;

  constructor(private readonly limit: LineLimit) {}

  /** How many of these lines are handled now: after a flood none before its end is reached. */
  admitted(lines: number): number {
    const now = performance.now();
    if (now - this.period.since >= PERIOD_MS) this.period = { since: now, lines: 0 };
    const most = (this.limit.linesPerSecond * PERIOD_MS) / 1_000 - this.period.lines;
    this.period.lines += lines;
    const wasBehind = this.isBehind;
    if (lines > 0) this.isBehind = lines > most;
    return wasBehind ? 0 : Math.max(0, Math.min(lines, most));
  }

  async drop(): Promise<void> {
    this.limit.onDropped();
    await Bun.sleep(PERIOD_MS);
  }
}
