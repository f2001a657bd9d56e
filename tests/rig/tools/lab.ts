import {
  closeSync,
  cpSync,
  existsSync,
  mkdirSync,
  openSync,
  readFileSync,
  rmSync,
  writeFileSync,
} from "node:fs";
import { dirname, join } from "node:path";
import { RUNTIME } from "../../../src/install/runtime.ts";
import { commandIn, machineIn } from "../../../src/sandbox/namespace.ts";
import { Relay } from "../../../src/sandbox/relay.ts";
import { Sandbox, type SandboxOptions } from "../../../src/sandbox/sandbox.ts";
import { LAN, VPN, VPN_PORT } from "../../../src/sandbox/topology.ts";
import type { TunnelRow } from "../../../src/tunnel/schema.ts";
import { DelayLine, type Port } from "./delay.ts";
import type { WireguardEndpoint } from "./frame.ts";
import { PROGRAM } from "./program.ts";
import { patiently } from "./retried.ts";
import { Sniffer } from "./sniffer.ts";
import { Traffic, type TrafficOptions } from "./traffic.ts";
import { until } from "./until.ts";

/** Starting the service takes 0.3 s, and fifty times that if forty programs share two processors. */
const HEALTHY_WITHIN_MS = 60_000;

/** As curl(1) exits where a connection is refused. */
export const COULD_NOT_CONNECT = 7;

/** From this priority on, the routing rules are the kernel's: `main` and `default`. */
const KERNELS_OWN = 32_766;

export const ENDPOINTS: readonly WireguardEndpoint[] = Object.values(VPN).flatMap(({ v4, v6 }) => [
  { address: v4, port: VPN_PORT },
  { address: v6, port: VPN_PORT },
]);

export interface Ran {
  code: number;
  stdout: string;
  stderr: string;
}

export interface Answer {
  status: number;
  // biome-ignore lint/suspicious/noExplicitAny: the test's expectations say what is in it.
  body: any;
}

export interface GatewayOptions {
  /** Another one than the sandbox's gateway has, for a second gateway. */
  namespace?: string;
  /** More of the command line. */
  flags?: readonly string[];
  /** A program that starts the service in its own place, with the service's command line as arguments. */
  starter?: readonly string[];
  /** Environment variables in addition to the machine's own. */
  environment?: Record<string, string>;
  /** What serves, unless it is what all tests start. */
  program?: readonly string[];
}

export async function createLab(options: SandboxOptions): Promise<Lab> {
  const lab = new Lab(await Sandbox.create({ ...options, program: PROGRAM }));
  try {
    await carrySinglePackets(lab);
    return lab;
  } catch (error) {
    await lab.close();
    throw error;
  }
}

/**
 * Where the sniffer listens, each frame is one packet, as on a real cable. Through a virtual one the kernel passes several
 * packets of one sender as one frame: those of a TCP connection, and of a `wireguard-go` that uses UDP_SEGMENT.
 */
async function carrySinglePackets(lab: Lab): Promise<void> {
  const { switch: home, router } = lab.namespaces;
  for (const [namespace, port] of [
    [home, "router"],
    [router, "lan0"],
  ] as const) {
    const { stderr } = await lab.exec(namespace, ["ip", "link", "set", "dev", port, "gso_max_segs", "1"]);
    if (stderr !== "") throw new Error(stderr);
  }
}

/** The sandbox, with tools to observe it and to break it. */
export class Lab {
  private gateways: Gateway[] = [];
  private delayLine: DelayLine | null = null;
  /** The MAC addresses of a gateway that is another machine, at this one's network cards. */
  otherGateway: Readonly<Record<"lan" | "uplink", string>> | null = null;

  constructor(readonly sandbox: Sandbox) {}

  get namespaces() {
    return this.sandbox.namespaces;
  }

  /** The file in which the gateway's service looks for the names of devices; the machine's own is out of its sight. */
  leases(): string {
    const folder = join(this.sandbox.directory, "leases");
    mkdirSync(folder, { recursive: true, mode: 0o755 });
    return join(folder, "dnsmasq.leases");
  }

  /** From now on the home's DHCP server knows the names of its computers. */
  nameComputers(): void {
    const leases = this.sandbox.computers.map(({ mac, v4, name }) => `0 ${mac} ${v4} ${name} *\n`);
    writeFileSync(this.leases(), leases.join(""));
  }

  exec(namespace: string, argv: readonly string[], stdin?: string): Promise<Ran> {
    return this.outside(commandIn(namespace, argv), stdin);
  }

  /** Not in a namespace of the lab. */
  async outside(argv: readonly string[], stdin?: string): Promise<Ran> {
    const child = Bun.spawn([...argv], {
      stdin: stdin === undefined ? "ignore" : new TextEncoder().encode(stdin),
      stdout: "pipe",
      stderr: "pipe",
    });
    const [code, stdout, stderr] = await Promise.all([
      child.exited,
      child.stdout.text(),
      child.stderr.text(),
    ]);
    return { code, stdout, stderr };
  }

  /** The page's text, or null if it does not arrive within two seconds. */
  async fetchFrom(namespace: string, url: string): Promise<string | null> {
    const { code, stdout } = await this.exec(namespace, ["curl", "-gsf", "-m", "2", url]);
    return code === 0 ? stdout.trim() : null;
  }

  /** Whether the page is refused by an answer, not by silence; curl(1) lists the exit codes. */
  async isRefused(namespace: string, url: string): Promise<boolean> {
    const { code } = await this.exec(namespace, ["curl", "-gsf", "-m", "30", url]);
    return code === COULD_NOT_CONNECT;
  }

  /** Captures what reaches the router's port from the gateway and, with one network card, from the client. */
  sniff(more: readonly WireguardEndpoint[] = []): Promise<Sniffer> {
    const endpoints = [...ENDPOINTS, ...more];
    return Sniffer.start(this.namespaces.router, "lan0", { endpoints, direction: "in" });
  }

  traffic(namespace: string, options: TrafficOptions = {}): Promise<Traffic> {
    return Traffic.start(namespace, options);
  }

  /** Unplugs the gateway's cable at the switch: its uplink loses the carrier and keeps its addresses. */
  async unplug(): Promise<void> {
    await this.exec(this.namespaces.switch, ["ip", "link", "set", "dev", "gateway", "down"]);
  }

  async plug(): Promise<void> {
    await this.exec(this.namespaces.switch, ["ip", "link", "set", "dev", "gateway", "up"]);
  }

  /** Delays one cable, by default the home router's, by `ms` each way; the cable delayed before is fast again. */
  async delay(ms: number, port: Port = "router"): Promise<void> {
    await this.delayLine?.remove();
    this.delayLine = ms === 0 ? null : await DelayLine.insert(this, ms, port);
  }

  async startGateway(options: GatewayOptions = {}): Promise<Gateway> {
    const gateway = new Gateway(this, options);
    this.gateways.push(gateway);
    await gateway.start();
    return gateway;
  }

  async close(): Promise<void> {
    for (const gateway of this.gateways) await gateway.end();
    await this.sandbox.close();
  }
}

/** The real service, as a child process. */
export class Gateway {
  readonly port = freePort();
  /** How many times it was launched. */
  lives = 0;
  private child: Bun.Subprocess | null = null;
  private relay: Relay | null = null;

  constructor(
    private readonly lab: Lab,
    private readonly options: GatewayOptions,
  ) {}

  private get namespace(): string {
    return this.options.namespace ?? this.lab.namespaces.gateway;
  }

  get pid(): number {
    return this.child?.pid ?? 0;
  }

  /** Returns once /health answers 200. */
  async start(): Promise<void> {
    this.launch();
    await this.isHealthy();
  }

  /** Keeps what has been decided and has happened so far, for `reset`. */
  async keep(): Promise<void> {
    await this.kill("SIGTERM");
    cpSync(this.stateDir, this.kept, { recursive: true });
    await this.start();
  }

  /**
   * Starts the service with what was kept, so that no test stands on what another one has left. Returns once each tunnel
   * that led somewhere is connected again.
   */
  async reset(): Promise<void> {
    await this.kill("SIGTERM");
    await this.lab.plug();
    rmSync(this.stateDir, { recursive: true });
    cpSync(this.kept, this.stateDir, { recursive: true });
    // The service would take up the tunnels that are there.
    const { stdout } = await this.lab.exec(this.namespace, ["ip", "-j", "link"]);
    for (const { ifname } of JSON.parse(stdout))
      if (ifname.startsWith(this.lab.sandbox.interface))
        await this.lab.exec(this.namespace, ["ip", "link", "del", ifname]);
    await this.start();
    await until(async () => {
      const { status, body } = await this.api("GET", "/api/tunnels");
      const isAtRest = ({ state }: TunnelRow) => ["connected", "disconnected"].includes(state);
      // Nothing is told without a token if one is demanded.
      return status !== 200 || body.tunnels.every(isAtRest);
    });
  }

  /** Returns once it has heard so many devices, each by so many addresses: after a start it reads the neighbours first. */
  async hears(devices: number, addresses = 1): Promise<void> {
    await until(async () => {
      const { body } = await this.api("GET", "/api/devices");
      const heard = body.devices.filter(
        (each: { addresses: string[] }) => each.addresses.length >= addresses,
      );
      return heard.length >= devices;
    });
  }

  /** Has each computer of the home speak, and returns once it knows their addresses: the kernel forgets who is quiet. */
  async hearsHome(): Promise<void> {
    const { computers } = this.lab.sandbox;
    for (const { namespace } of computers)
      await this.lab.exec(namespace, ["ping", "-c", "1", "-W", "10", LAN.gateway4]);
    await until(async () => {
      const { body } = await this.api("GET", "/api/devices");
      const heard = body.devices.flatMap(({ addresses }: { addresses: string[] }) => addresses);
      return computers.every(({ v4 }) => heard.includes(v4));
    });
  }

  /** Ends the service and takes both layers of its kill switch away, as a positive control needs it. */
  async expose(): Promise<void> {
    await this.kill("SIGKILL");
    const inside = (...argv: string[]) => this.lab.exec(this.namespace, argv);
    await inside("nft", "flush", "ruleset");
    for (const family of ["-4", "-6"]) {
      const { stdout } = await inside("ip", "-j", family, "rule", "show");
      for (const { priority } of JSON.parse(stdout))
        if (priority > 0 && priority < KERNELS_OWN)
          await inside("ip", family, "rule", "del", "priority", `${priority}`);
    }
  }

  /** Starts the process and does not wait for it. */
  launch(): void {
    const log = openSync(this.logFile, "a", 0o600);
    this.relay ??= Relay.start(this.namespace, this.port);
    this.child = Bun.spawn(this.machine([...(this.options.starter ?? []), ...this.command()]), {
      env: { ...process.env, ...RUNTIME, ...this.options.environment },
      stdin: "ignore",
      stdout: log,
      stderr: log,
    });
    closeSync(log);
    this.lives += 1;
  }

  /** Runs an operator's command for this service, on its machine. */
  operate(...words: string[]): Promise<Ran> {
    const program = this.options.program ?? PROGRAM;
    return this.lab.outside(this.machine([...program, ...words, "--state-dir", this.stateDir]));
  }

  /** A command as the gateway's machine starts it. */
  private machine(argv: readonly string[]): string[] {
    const leases = dirname(this.lab.leases());
    const mounted = ["sh", "-c", `mount --bind ${leases} /var/lib/misc && exec "$@"`, "sh"];
    return machineIn(this.namespace, [...mounted, ...argv]);
  }

  /** Asks as a program does that obeys the limit of requests. */
  async api(method: string, path: string, body?: unknown): Promise<Answer> {
    const url = `http://127.0.0.1:${this.port}${path}`;
    const json = { body: JSON.stringify(body), headers: { "content-type": "application/json" } };
    const { status, text } = await patiently(async () => {
      const response = await fetch(url, { method, ...(body !== undefined && json) });
      return { status: response.status, headers: response.headers, text: await response.text() };
    });
    return { status, body: parsed(text) };
  }

  /** The body of an answer that has to be 200. */
  async ask(method: string, path: string, body?: unknown): Promise<Answer["body"]> {
    const answer = await this.api(method, path, body);
    if (answer.status === 200) return answer.body;
    throw new Error(`${method} ${path}: ${answer.status} ${JSON.stringify(answer.body)}`);
  }

  /** Returns once the process is gone. */
  async kill(signal: NodeJS.Signals): Promise<void> {
    this.child?.kill(signal);
    await this.child?.exited;
    this.child = null;
  }

  /** Ends it for good. */
  async end(): Promise<void> {
    await this.kill("SIGKILL");
    this.relay?.stop();
  }

  async restart(): Promise<void> {
    await this.kill("SIGTERM");
    await this.start();
  }

  /** All that the service has printed. */
  log(): string {
    return existsSync(this.logFile) ? readFileSync(this.logFile, "utf8") : "";
  }

  private get logFile(): string {
    return join(this.lab.sandbox.directory, `gateway-${this.port}.log`);
  }

  private get stateDir(): string {
    return join(this.lab.sandbox.directory, "state");
  }

  private get kept(): string {
    return `${this.stateDir}-kept-${this.port}`;
  }

  private command(): string[] {
    return [
      ...(this.options.program ?? PROGRAM),
      ...["serve", ...this.lab.sandbox.gatewayFlags(this.port)],
      ...(this.options.flags ?? []),
    ];
  }

  /** Waits until it is; throws if it has ended or takes too long. */
  async isHealthy(): Promise<void> {
    const deadline = performance.now() + HEALTHY_WITHIN_MS;
    for (;;) {
      const answer = await this.api("GET", "/health").catch(() => null);
      if (answer?.status === 200) return;
      const ended = this.child?.exitCode ?? this.child?.signalCode ?? null;
      if (ended !== null || performance.now() > deadline) {
        throw new Error(
          `the gateway does not become healthy (${answer?.body ?? ended ?? "silent"}):\n${this.log()}`,
        );
      }
      await Bun.sleep(10);
    }
  }
}

export function freePort(): number {
  const listener = Bun.listen({ hostname: "127.0.0.1", port: 0, socket: { data() {} } });
  const { port } = listener;
  listener.stop(true);
  return port;
}

function parsed(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    return text;
  }
}
