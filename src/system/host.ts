/**
 * The one seam between the gateway and the machine. The real one is `LinuxHost`; tests put a fake kernel in
 * its place. Nothing outside `system/` spawns a program, reads a clock or touches a file of the machine.
 */
export interface Host {
  /**
   * Runs a program to its end and returns what it printed.
   * Throws `GatewayError("unable")` when it exits non-zero, cannot be started or runs out of time; the message
   * names the program and, unless `secret`, quotes its last line on standard error.
   */
  run(argv: readonly string[], options?: RunOptions): Promise<string>;
  /** Starts a program that prints events, and calls back for each line until `stop` is called. */
  watch(argv: readonly string[], onLine: (line: string) => void, onExit: () => void): Watch;
  /** The text of a file, or null where there is none. `/proc/sys` is that of the served namespace. */
  read(path: string): Promise<string | null>;
  /** Writes a setting below `/proc/sys`, of the served namespace. */
  writeSysctl(path: string, value: string): Promise<void>;
  /** One request and answer over a local socket, as WireGuard's cross-platform interface speaks it; null where no one listens. */
  exchange(socketPath: string, request: string): Promise<string | null>;
  /** The IPv4 and IPv6 addresses of a DNS name, asked of `resolvers` from UDP port `sourcePort` and from no other. */
  lookup(name: string, resolvers: readonly string[], sourcePort: number): Promise<string[]>;
  /** Milliseconds since 1970. */
  now(): number;
  /** Milliseconds on a clock that never jumps. */
  monotonic(): number;
  sleep(ms: number, signal?: AbortSignal): Promise<void>;
}

export interface RunOptions {
  /** Text for standard input; key material travels this way only. */
  stdin?: string;
  /** The program handles keys: what it says on standard error is not repeated. */
  secret?: boolean;
  timeoutMs?: number;
}

export interface Watch {
  stop(): void;
}
