/**
 * The one seam between the gateway and the machine. The real one is `LinuxHost`; tests put a fake kernel in
 * its place. Nothing outside `system/` spawns a program, reads a clock or touches a file of the machine.
 */
export interface Host {
  /**
   * Runs a program to its end and returns what it printed.
   * Throws `GatewayError("unable")` when it exits non-zero or cannot be started, and `GatewayError("timed_out")` when
   * it does not finish in time; the message names the program and, unless `secret`, quotes the reason that it gave.
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
  /**
   * One request over HTTPS, to the given addresses and no others. Throws `GatewayError("unable")` where nobody answers,
   * and the signal's reason, by when nothing more is sent.
   */
  https(request: PinnedRequest, signal?: AbortSignal): Promise<HttpsAnswer>;
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
  /** Kills it. */
  signal?: AbortSignal;
}

export interface HttpsRequest {
  url: string;
  method: "GET" | "POST" | "PUT" | "DELETE";
  headers: Record<string, string>;
  body?: string;
}

/** A request, and where it goes: the gateway finds a name's addresses itself. */
export interface PinnedRequest extends HttpsRequest {
  addresses: readonly string[];
  /** TCP port that the connection comes from; any where it is left out. */
  sourcePort?: number;
}

export interface HttpsAnswer {
  status: number;
  /** Names in lower case. */
  headers: Record<string, string>;
  body: string;
}

/** Carries a request to a server on the internet. Throws `GatewayError("unable")` where no answer comes back. */
export type Send = (request: HttpsRequest) => Promise<HttpsAnswer>;

export interface Watch {
  stop(): void;
}
