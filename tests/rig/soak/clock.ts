import { chmodSync, closeSync, openSync, writeFileSync, writeSync } from "node:fs";
import { join } from "node:path";
import type { GatewayOptions, Lab } from "../tools/lab.ts";
import type { Disturbance, Kind } from "./disturbances.ts";

const MINUTE_S = 60;
const HOUR_S = 60 * MINUTE_S;
const DAY_S = 24 * HOUR_S;
const FORWARD_S = [MINUTE_S, HOUR_S, 30 * HOUR_S, 400 * DAY_S];
const BACK_S = [MINUTE_S, HOUR_S, 30 * HOUR_S];
/** The clock stays before 2038, where seconds no longer fit into 32 bits. */
const FURTHEST_S = 3_000 * DAY_S;
/** Longest that the clock is behind. */
const BEHIND_MS = 4_000;

/**
 * The wall clock of the service and of its wireguard-go. The machine's clock is not touched, nor is that of the kernel,
 * so with WireGuard in the kernel only the service's clock jumps. It jumps back only for moments, because a server
 * refuses a handshake from the past (WireGuard white paper, section 5.1).
 */
export class Clock {
  private aheadS = 0;

  private constructor(
    private readonly file: string,
    /** How the gateway is started. */
    readonly options: GatewayOptions,
  ) {}

  static async build(lab: Lab): Promise<Clock> {
    const [library, file, userspace] = ["clock.so", "clock", "wireguard-go"].map((name) =>
      join(lab.sandbox.directory, name),
    ) as [string, string, string];
    const source = join(import.meta.dir, "clock.c");
    const { code, stderr } = await lab.outside(["gcc", "-O2", "-shared", "-fPIC", "-o", library, source]);
    if (code !== 0) throw new Error(`gcc: ${stderr}`);
    const environment = { LD_PRELOAD: library, LAB_CLOCK: file };
    // The service does not pass its environment on to the programs that it starts.
    const exports = Object.entries(environment).map(([name, value]) => `export ${name}=${value}\n`);
    writeFileSync(userspace, `#!/bin/sh\n${exports.join("")}exec wireguard-go "$@"\n`);
    chmodSync(userspace, 0o755);
    const clock = new Clock(file, {
      environment: { ...environment, WG_QUICK_USERSPACE_IMPLEMENTATION: userspace },
    });
    writeFileSync(file, new Uint8Array(8));
    return clock;
  }

  /** Jumps forward, or back for a moment. */
  readonly jump: Kind = (pick, random) =>
    random() < 0.5
      ? this.forward(pick(FORWARD_S.filter((seconds) => this.aheadS + seconds < FURTHEST_S)))
      : this.backward(pick(BACK_S), BEHIND_MS * random());

  advance(seconds: number): void {
    this.aheadS += seconds;
    this.set(this.aheadS);
  }

  private forward(seconds: number): Disturbance {
    return {
      what: "jumps of the clock",
      title: `the clock jumps ${seconds} s forward`,
      run: async () => this.advance(seconds),
    };
  }

  private backward(seconds: number, ms: number): Disturbance {
    return {
      what: "jumps of the clock",
      title: `the clock jumps ${seconds} s back, for ${ms.toFixed(0)} ms`,
      run: async () => {
        this.set(this.aheadS - seconds);
        await Bun.sleep(ms);
        this.set(this.aheadS);
      },
    };
  }

  private set(aheadS: number): void {
    const file = openSync(this.file, "r+");
    writeSync(file, new Uint8Array(BigInt64Array.of(BigInt(aheadS)).buffer), 0, 8, 0);
    closeSync(file);
  }
}
