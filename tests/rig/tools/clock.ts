import { chmodSync, closeSync, openSync, writeFileSync, writeSync } from "node:fs";
import { join } from "node:path";
import type { GatewayOptions, Lab } from "./lab.ts";

const PRELOADED = join(import.meta.dir, "clock.c");

/**
 * The wall clock of the service and of its wireguard-go. The machine's clock is not touched, nor is that of
 * the kernel, so with WireGuard in the kernel only the service's clock jumps.
 */
export class Clock {
  /** How far the wall clock is ahead. */
  aheadS = 0;

  private constructor(
    private readonly file: string,
    /** How the gateway is started. */
    readonly options: GatewayOptions,
  ) {}

  static async build(lab: Lab): Promise<Clock> {
    const inLab = (name: string) => join(lab.sandbox.directory, name);
    const [library, file, userspace] = [inLab("clock.so"), inLab("clock"), inLab("wireguard-go")];
    const { code, stderr } = await lab.outside(["gcc", "-O2", "-shared", "-fPIC", "-o", library, PRELOADED]);
    if (code !== 0) throw new Error(`gcc: ${stderr}`);
    // The service does not pass its environment on to the programs that it starts.
    const exports = `export LD_PRELOAD=${library} LAB_CLOCK=${file}`;
    writeFileSync(userspace, `#!/bin/sh\n${exports}\nexec wireguard-go "$@"\n`);
    chmodSync(userspace, 0o755);
    writeFileSync(file, new Uint8Array(8));
    const environment = { LD_PRELOAD: library, LAB_CLOCK: file };
    return new Clock(file, {
      environment: { ...environment, WG_QUICK_USERSPACE_IMPLEMENTATION: userspace },
    });
  }

  /** The wall clock, in milliseconds since 1970. */
  now(): number {
    return Date.now() + 1_000 * this.aheadS;
  }

  /** The wall clock jumps, as when somebody sets it; back, if it is less than nothing. */
  advance(seconds: number): void {
    this.aheadS += seconds;
    const file = openSync(this.file, "r+");
    writeSync(file, new Uint8Array(BigInt64Array.of(BigInt(this.aheadS)).buffer), 0, 8, 0);
    closeSync(file);
  }
}
