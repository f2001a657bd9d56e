import type { Answer } from "../tools/lab.ts";
import { ask } from "../tools/request.ts";
import { type Asked, READS, REFUSED } from "./questions.ts";

const PER_SECOND = 20;
/** Each has one request under way at most, so that after a stall no client exceeds its limit. */
const CLIENTS = 10;
/** What takes longer counts as unanswered. `/api/checks` may take ten seconds, and a busy machine is slow. */
const PATIENCE_MS = 60_000;
const REFUSED_PART = 0.15;

/** Requests from several clients, at a steady rate, and what was wrong with the answers. */
export class Load {
  sent = 0;
  /** Requests that were left out because all clients were waiting. */
  skipped = 0;
  private readonly faults: string[] = [];
  /** Requests without an answer since the last `settle`. */
  private unanswered: string[] = [];
  private readonly times: number[] = [];
  private readonly idle = Array.from({ length: CLIENTS }, (_, index) => `127.0.3.${index + 1}`);
  private timer: Timer | undefined;

  constructor(
    private readonly port: number,
    private readonly random: () => number,
  ) {}

  start(): void {
    this.timer = setInterval(() => void this.turn(), 1_000 / PER_SECOND);
  }

  /** What was answered wrongly since the last time, or not at all although the service lived. */
  settle(hasLived: boolean): string[] {
    const unanswered = this.unanswered.splice(0).map((title) => `${title}: no answer`);
    return [...this.faults.splice(0), ...(hasLived ? unanswered : [])];
  }

  get medianMs(): number {
    return this.at(0.5);
  }

  get slowestMs(): number {
    return this.at(0.99);
  }

  stop(): void {
    clearInterval(this.timer);
  }

  private async turn(): Promise<void> {
    const client = this.idle.shift();
    if (client === undefined) {
      this.skipped += 1;
      return;
    }
    const choices = this.random() < REFUSED_PART ? REFUSED : READS;
    const asked = choices[Math.floor(this.random() * choices.length)] as Asked;
    this.sent += 1;
    const start = performance.now();
    const answer = await ask(this.port, client, asked, AbortSignal.timeout(PATIENCE_MS));
    this.note(asked, answer, performance.now() - start);
    this.idle.push(client);
  }

  private note(asked: Asked, answer: Answer | null, ms: number): void {
    const title = `${asked.method} ${asked.path}`;
    if (answer === null) {
      this.unanswered.push(`${title}, ${ms.toFixed(0)} ms`);
      return;
    }
    this.times.push(ms);
    if (!asked.isRight(answer)) {
      const text = JSON.stringify(answer.body).slice(0, 200);
      this.faults.push(`${title} ${asked.body?.slice(0, 60) ?? ""}: ${answer.status} ${text}`);
    }
  }

  private at(part: number): number {
    return this.times.toSorted((a, b) => a - b)[Math.floor(part * (this.times.length - 1))] ?? 0;
  }
}
