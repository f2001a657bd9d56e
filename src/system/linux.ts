import { closeSync, constants, openSync, readFileSync, readSync, writeFileSync } from "node:fs";
import { uptime } from "node:os";
import type { Address } from "../base/address.ts";
import { COMPILED } from "../base/compiled.ts";
import { messageOf } from "../base/errors.ts";
import type { Mac } from "../base/mac.ts";
import { nextTurn } from "../base/queue.ts";
import type { BoundSocket, BoundTo, SocketHandlers } from "./bound-socket.ts";
import type { ConnectionTable } from "./conntrack.ts";
import type { FirewallGeneration } from "./firewall-generation.ts";
import type {
  Connection,
  Direction,
  Downloaded,
  ElementChange,
  Heard,
  Host,
  HttpsAnswer,
  LineLimit,
  LinkSocket,
  OpenRelay,
  Path,
  PinnedRequest,
  ProcedureCall,
  RelayPlace,
  ResolverPath,
  RouterPath,
  RunOptions,
  UdpPlace,
  UdpSocket,
  Watch,
} from "./host.ts";
import { readLines } from "./lines.ts";
import { deleteLink, listed } from "./listed.ts";
import { macAt } from "./neighbour.ts";
import { Output } from "./output.ts";
import { reasonIn } from "./reason.ts";
import { refused } from "./refusals.ts";
import type { Relays } from "./relay/relays.ts";
import type { SetElements } from "./set-elements.ts";
import { exchange } from "./uapi.ts";

/**
 * Longest time for a kernel tool; one that takes longer hangs. On a busy Pi `nft` takes 100 ms, but the first run
 * after a boot waits for the kernel to load its modules, which took more than 10 s on an emulated machine.
 */
const RUN_TIMEOUT_MS = 10_000;
const NFT_TIMEOUT_MS = 30_000;
/** Between two looks at what it has printed, while its end is not waited for. */
const LOOK_MS = 1;
/** A program that waits for a device ends only when that answers. */
const KILLED_WITHIN_MS = 1_000;
/** Programs that hand a change to the kernel; `tee` writes a sysctl. */
const KERNEL_TOOLS: ReadonlySet<string> = new Set(["ip", "nft", "tc", "wg", "tee"]);
/**
 * In front of a command: the kernel ends it when this program is killed (prctl(2), PR_SET_PDEATHSIG). It would notice
 * that nobody reads its pipe only when it has something to print, and systemd leaves it, as it leaves wireguard-go.
 */
export const ENDS_WITH_THIS_PROGRAM = ["setpriv", "--pdeathsig", "KILL"];
/** `setpriv` is not permitted what it needs (SETPRIV_EXIT_PRIVERR). The dynamic linker ends a program with that code too. */
const SETPRIV_FAILED = 127;
const SETPRIV_REFUSED = /^setpriv: (?!failed to execute )/;
// Not needed at a start.
const loadChallenge = () => import("./challenge.ts");
const loadConntrack = () => import("./conntrack.ts");
const loadGrpc = () => import("./grpc.ts");
const loadHttps = () => import("./https.ts");
const loadLinkSocket = () => import("./link-socket.ts");
const loadLookup = () => import("./lookup.ts");
const loadMdns = () => import("./mdns.ts");
const loadRelays = () => import("./relay/relays.ts");
const loadPathProbe = () => import("./path-probe.ts");
const loadResolverProbe = () => import("./resolver-probe.ts");
const loadBoundSocket = () => import("./bound-socket.ts");
const loadRoundTrip = () => import("./round-trip.ts");
const loadRouterRoundTrip = () => import("./router-round-trip.ts");
const loadGeneration = () => import("./firewall-generation.ts");
const loadSetElements = () => import("./set-elements.ts");
const loadSpeed = () => import("./speed/speed-thread.ts");
const loadUdpSocket = () => import("./udp-socket.ts");
/** Children do not inherit the service's environment: no settings, no secrets, and messages in English. */
const CHILD_ENV = {
  PATH: "/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin",
  LC_ALL: "C",
};

/** The command that starts this program again: the compiled binary, or Bun with the main file. */
export const SELF_COMMAND: readonly string[] = COMPILED ? [process.execPath] : [process.execPath, Bun.main];

export interface Child {
  readonly pid: number;
  readonly exited: Promise<number>;
  kill(signal: NodeJS.Signals): void;
}

/** The real machine, in the network namespace that this program was started in. */
export class LinuxHost implements Host {
  /** In front of a program that prints events; nothing once `setpriv` was refused, as a filter of system calls may. */
  private watchedBy: readonly string[] = ENDS_WITH_THIS_PROGRAM;
  private connections: Promise<ConnectionTable> | null = null;
  private setElements: Promise<SetElements> | null = null;
  private generation: Promise<FirewallGeneration> | null = null;
  private relays: Relays | null = null;

  async run(argv: readonly string[], options: RunOptions = {}): Promise<string> {
    const timeoutMs = options.timeoutMs ?? (argv[0] === "nft" ? NFT_TIMEOUT_MS : RUN_TIMEOUT_MS);
    const { stdin } = options;
    // If the program cannot be started, nobody waits for its input.
    if (stdin instanceof Promise) stdin.catch(() => {});
    using stdout = Output.open();
    using stderr = Output.open();
    const child = startChild(argv[0] ?? "", () =>
      Bun.spawn([...argv], {
        env: CHILD_ENV,
        stdin: inputOf(stdin),
        stdout: stdout.file,
        stderr: stderr.file,
        killSignal: "SIGKILL",
        ...(options.signal && { signal: options.signal }),
      }),
    );
    if (stdin instanceof Promise) await feed(child, stdin);
    const outcome = await outcomeOf(child, { stdout, stderr }, timeoutMs, options);
    if (outcome?.code === 0) return outcome.stdout;
    options.signal?.throwIfAborted();
    if (outcome === null) throw refused("program_late", { program: nameOf(argv), seconds: timeoutMs / 1000 });
    const reason = options.secret ? "" : reasonIn(outcome.stderr, outcome.stdout);
    const why = reason === "" ? ` (${child.signalCode ?? `exit ${outcome.code}`})` : `: ${reason}`;
    const code = KERNEL_TOOLS.has(argv[0] ?? "") ? "kernel_refused" : "unable";
    throw refused("program_failed", { program: nameOf(argv), reason: why }, { code });
  }

  listed(words: readonly string[]): Promise<readonly unknown[] | null> {
    return listed(words);
  }

  deleteLink(name: string): Promise<boolean> {
    return deleteLink(name);
  }

  async startDaemon(...[argv, environment, isUp]: Parameters<Host["startDaemon"]>): Promise<void> {
    const child = startChild(argv[0] ?? "", () =>
      Bun.spawn([...argv], {
        env: { ...CHILD_ENV, ...environment },
        stdio: ["ignore", "ignore", "ignore"],
        detached: true,
      }),
    );
    child.unref();
    const late = this.monotonic() + RUN_TIMEOUT_MS;
    while (child.exitCode === null && child.signalCode === null) {
      if (await isUp()) return;
      if (this.monotonic() > late) {
        child.kill("SIGKILL");
        throw refused("program_late", { program: nameOf(argv), seconds: RUN_TIMEOUT_MS / 1000 });
      }
      await Promise.race([child.exited, Bun.sleep(LOOK_MS)]);
    }
    // Nobody has heard why it failed: the second time, as a program that goes into the background, it is heard.
    if (child.exitCode !== 0) await this.run(argv);
  }

  watch(
    argv: readonly string[],
    onLine: (line: string) => void,
    onExit: () => void,
    limit?: LineLimit,
  ): Watch {
    const child = startChild(argv[0] ?? "", () =>
      Bun.spawn([...this.watchedBy, ...argv], {
        env: CHILD_ENV,
        stdin: "ignore",
        stdout: "pipe",
        stderr: "pipe",
      }),
    );
    let stopped = false;
    let isRefused = false;
    const take = (line: string) => {
      isRefused ||= SETPRIV_REFUSED.test(line);
      if (!stopped) onLine(line);
    };
    const dropped = limit && {
      ...limit,
      onDropped: () => {
        if (!stopped) limit.onDropped();
      },
    };
    void (async () => {
      await Promise.all([child.stdout, child.stderr].map((stream) => readLines(stream, take, dropped)));
      // A program that outlives a crash is better than none.
      if ((await child.exited) === SETPRIV_FAILED && isRefused) this.watchedBy = [];
      if (!stopped) onExit();
    })();
    return {
      stop: () => {
        stopped = true;
        child.kill("SIGKILL");
      },
    };
  }

  /** Starts a program that keeps running; its output goes where this program's goes. */
  spawn(argv: readonly string[]): Child {
    return startChild(argv[0] ?? "", () =>
      Bun.spawn([...argv], {
        env: CHILD_ENV,
        stdin: "ignore",
        stdout: "inherit",
        stderr: "inherit",
      }),
    );
  }

  async read(path: string, mostBytes?: number): Promise<string | null> {
    try {
      return mostBytes === undefined ? readFileSync(path, "utf8") : beginningOf(path, mostBytes);
    } catch {
      return null;
    }
  }

  async writeSysctl(path: string, value: string): Promise<void> {
    try {
      writeFileSync(path, value);
    } catch (cause) {
      throw refused("kernel_setting_refused", { path, reason: messageOf(cause) }, { cause });
    }
  }

  exchange(socketPath: string, request: string): Promise<string | null> {
    return exchange(socketPath, request);
  }

  async lookup(name: string, resolvers: readonly string[], sourcePort: number): Promise<string[]> {
    return (await loadLookup()).lookup(name, resolvers, sourcePort);
  }

  async hostName(address: string): Promise<string | null> {
    return (await loadMdns()).hostNameOf(address);
  }

  async probeResolver(resolver: string, sizes: readonly number[]): Promise<number[]> {
    return (await loadResolverProbe()).probeResolver(resolver, sizes);
  }

  async boundUdp(to: BoundTo, handlers: SocketHandlers): Promise<BoundSocket> {
    return (await loadBoundSocket()).openBoundUdp(to, handlers);
  }

  async boundTcp(to: BoundTo, handlers: SocketHandlers): Promise<BoundSocket> {
    return (await loadBoundSocket()).openBoundTcp(to, handlers);
  }

  async roundTrip(way: ResolverPath): Promise<number | null> {
    return (await loadRoundTrip()).roundTripTo(way);
  }

  async routerRoundTrip(way: RouterPath): Promise<number | null> {
    return (await loadRouterRoundTrip()).routerRoundTrip(way);
  }

  async probePath(path: Path, sizes: readonly number[], signal?: AbortSignal): Promise<number | null> {
    return (await loadPathProbe()).probePath(path, sizes, signal);
  }

  async listenOn(link: string, heard: Heard): Promise<LinkSocket> {
    return (await loadLinkSocket()).listenOn(link, heard);
  }

  async openUdp(place: UdpPlace): Promise<UdpSocket> {
    return (await loadUdpSocket()).openUdp(place);
  }

  async openRelay(place: RelayPlace): Promise<OpenRelay> {
    const { Relays } = await loadRelays();
    this.relays ??= new Relays();
    return this.relays.open(place);
  }

  async call(call: ProcedureCall, signal?: AbortSignal): Promise<Uint8Array> {
    return (await loadGrpc()).call(call, signal);
  }

  async measureDownload(...given: Parameters<Host["measureDownload"]>): Promise<Downloaded> {
    return (await loadSpeed()).measureDownload(...given);
  }

  async endConnections(isOver: (connection: Connection) => boolean): Promise<Connection[]> {
    this.connections ??= loadConntrack().then(({ ConnectionTable }) => new ConnectionTable());
    return (await this.connections).end(isOver);
  }

  macAt(address: Address, link: string): Mac | null {
    return macAt(address, link);
  }

  async changeElements(changes: readonly ElementChange[]): Promise<void> {
    this.setElements ??= loadSetElements().then(({ SetElements }) => new SetElements());
    return (await this.setElements).change(changes);
  }

  async firewallGeneration(): Promise<number | null> {
    this.generation ??= loadGeneration().then(({ FirewallGeneration }) => new FirewallGeneration());
    return (await this.generation).read();
  }

  async challenge(connections: readonly Direction[]): Promise<void> {
    (await loadChallenge()).challenge(connections);
  }

  async https(request: PinnedRequest, signal?: AbortSignal): Promise<HttpsAnswer> {
    return (await loadHttps()).ask(request, signal);
  }

  now(): number {
    return Date.now();
  }

  monotonic(): number {
    return performance.now();
  }

  age(): number {
    return 1_000 * uptime();
  }

  nextTurn(): Promise<void> {
    return nextTurn();
  }

  random(): number {
    return Math.random();
  }

  sleep(ms: number, signal?: AbortSignal): Promise<void> {
    if (signal?.aborted) return Promise.resolve();
    const { promise, resolve } = Promise.withResolvers<void>();
    const wake = () => {
      clearTimeout(timer);
      // The signal may exist as long as the service, and would keep a listener for each past sleep.
      signal?.removeEventListener("abort", wake);
      resolve();
    };
    const timer = setTimeout(wake, ms);
    signal?.addEventListener("abort", wake, { once: true });
    return promise;
  }
}

function beginningOf(path: string, bytes: number): string {
  // Some of these files belong to other users. The service would wait forever for the writer of a pipe in their place.
  const file = openSync(path, constants.O_RDONLY | constants.O_NONBLOCK);
  try {
    const buffer = Buffer.alloc(bytes);
    return buffer.toString("utf8", 0, readSync(file, buffer, 0, bytes, 0));
  } finally {
    closeSync(file);
  }
}

/** Bun throws if a program is missing, or if too many files are open; the error says which. */
function startChild<T>(program: string, start: () => T): T {
  try {
    return start();
  } catch (cause) {
    const { code } = cause as NodeJS.ErrnoException;
    const why = code === "ENOENT" ? "is it installed?" : (code ?? messageOf(cause));
    throw refused("program_unstarted", { program, reason: why }, { cause });
  }
}

function nameOf(argv: readonly string[]): string {
  return argv.slice(0, 2).join(" ");
}

type Running = Bun.Subprocess<"ignore" | "pipe" | Uint8Array, number, number>;

interface Printed {
  stdout: Output;
  stderr: Output;
}

interface Outcome {
  code: number;
  stdout: string;
  stderr: string;
}

function inputOf(stdin: RunOptions["stdin"]): "ignore" | "pipe" | Uint8Array {
  if (stdin === undefined) return "ignore";
  // A pipe is a socket, and `wg setconf IF /dev/stdin` cannot open a socket.
  return stdin instanceof Promise ? "pipe" : new TextEncoder().encode(stdin);
}

/** Gives a waiting program its input, or ends it if there is none. */
async function feed(child: Running, input: Promise<string>): Promise<void> {
  try {
    const text = await input;
    if (typeof child.stdin !== "object") return;
    child.stdin.write(text);
    // If the program has ended, its exit code says so.
    await Promise.resolve(child.stdin.end()).catch(() => {});
  } catch (error) {
    child.kill("SIGKILL");
    throw error;
  }
}

/**
 * The result of a program, or what it has printed once `until` or `failure` is there; null if it took too long and was
 * killed.
 */
async function outcomeOf(
  child: Running,
  printed: Printed,
  timeoutMs: number,
  options: Pick<RunOptions, "until" | "failure" | "onPrinting">,
): Promise<Outcome | null> {
  const late = Promise.withResolvers<null>();
  let isLate = false;
  let timer = setTimeout(() => {
    isLate = true;
    child.kill("SIGKILL");
    timer = setTimeout(() => late.resolve(null), KILLED_WITHIN_MS);
  }, timeoutMs);
  const ended = Promise.race([child.exited, late.promise])
    .finally(() => clearTimeout(timer))
    .then((code) => (code === null || isLate ? null : outcomeIn(code, printed)));
  const outcomes: Promise<Outcome | null>[] = [ended];
  const { until, failure } = options;
  if (until !== undefined || failure !== undefined) outcomes.push(seenIn(printed, ended, options));
  return Promise.race(outcomes);
}

function outcomeIn(code: number, { stdout, stderr }: Printed): Outcome {
  return { code, stdout: stdout.text(), stderr: stderr.text() };
}

/** Looks at what is printed until it says that the work is done or has failed, or the program has ended. */
async function seenIn(
  printed: Printed,
  ended: Promise<Outcome | null>,
  { until, failure, onPrinting }: Pick<RunOptions, "until" | "failure" | "onPrinting">,
): Promise<Outcome | null> {
  let isOver = false;
  let isPrinting = false;
  const over = ended.finally(() => {
    isOver = true;
  });
  while (!isOver && !printed.stdout.isClosed) {
    const isDone = until !== undefined && printed.stdout.has(until);
    if (printed.stdout.isBegun && !isPrinting) onPrinting?.();
    isPrinting = printed.stdout.isBegun;
    if (isDone) return outcomeIn(0, printed);
    if (failure !== undefined && printed.stderr.has(failure)) return outcomeIn(1, printed);
    await Promise.race([over, Bun.sleep(LOOK_MS)]);
  }
  return ended;
}
