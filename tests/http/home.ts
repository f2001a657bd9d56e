import { rmSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { CLAIM_FILE } from "../../src/access/claim.ts";
import { type Parts, partsOn } from "../../src/app/parts.ts";
import type { Mac } from "../../src/base/mac.ts";
import { type Settings, settingsFrom } from "../../src/base/settings.ts";
import { type App, createApp, listen, type Options } from "../../src/http/app.ts";
import { Gate } from "../../src/http/gate.ts";
import { ip } from "../fake/address.ts";
import { FakeHost } from "../fake/host.ts";
import { PRIVATE, PUBLIC } from "../servers/example.ts";
import { newDirectory } from "../tunnel/directory.ts";
import { type Answer, exchange, request } from "./wire.ts";

/** The built-in provider's list has one server. */
const SE1 = {
  hostname: "se-1",
  country: "Sweden",
  city: "Stockholm",
  ipv4: "192.0.2.1",
  port: 51820,
  public_key: PUBLIC,
};
const FILES = {
  "/etc/servers.json": JSON.stringify({ servers: [SE1] }),
  "/etc/managed.key": PRIVATE,
};
const FLAGS = {
  interface: "wg",
  managedList: "/etc/servers.json",
  managedKeyFile: "/etc/managed.key",
  managedAddress: "10.64.0.2/32",
  logLevel: "error",
};
/** Checked once, because that takes longer than much else of a start; each home has a directory of its own. */
const SETTINGS = settingsFrom(FLAGS);

/** The machine's clock when it starts: its date is no whole second, and far ahead of its monotone clock. */
const UP_MS = 250;
const EPOCH_MS = 1_700_000_000_000;

/** What reads the firewall for a status; nothing else lists the table once the gateway has compared it. */
export const LISTING = "nft -s -n list table inet portcullis";

/** A gateway in a home: all of it but the machine, which is fake. */
export class Home {
  readonly lines: string[] = [];
  readonly faults: string[] = [];

  readonly app: App;
  private readonly listening: ReturnType<typeof listen>;

  private constructor(
    readonly host: FakeHost,
    readonly parts: Parts,
    readonly directory: string,
    options: Partial<Options>,
  ) {
    this.app = createApp(
      { ...parts, hostname: "portcullis" },
      {
        names: ["portcullis"],
        lan: () => parts.killSwitch.network.lans.flatMap((lan) => lan.prefixes),
        interfaces: () => parts.killSwitch.network.lans.map((lan) => lan.interface),
        interfaceOf: async () => null,
        gluetun: false,
        https: null,
        gate: new Gate(parts.settings.auth, parts.tokens),
        clock: host,
        log: (method, path, status) => this.lines.push(`${method} ${path} ${status}`),
        fault: (message) => this.faults.push(message),
        saved: () => parts.store.flushed(),
        ...options,
      },
    );
    this.listening = listen(this.app, "127.0.0.1", 0);
  }

  static async start(
    options: Partial<Options> = {},
    files: Record<string, string> = {},
    auth: Settings["auth"] = "off",
    claim?: string,
  ): Promise<Home> {
    const host = new FakeHost(UP_MS);
    host.patient = true;
    host.setClock(EPOCH_MS);
    host.links.get("lan0")?.addresses.push("192.168.7.1/24", "fe80::1/64");
    for (const [path, text] of Object.entries({ ...FILES, ...files })) host.files.set(path, text);
    const stateDir = newDirectory();
    if (claim !== undefined) writeFileSync(join(stateDir, CLAIM_FILE), claim);
    const parts = await partsOn(host, { ...SETTINGS, stateDir, auth });
    await parts.tunnels.start(parts.catalogue);
    return new Home(host, parts, stateDir, options);
  }

  /** With these servers in the VPN account's list. */
  static listing(servers: readonly object[]): Promise<Home> {
    return Home.start({}, { "/etc/servers.json": JSON.stringify({ servers }) });
  }

  /** They are its servers from now on. */
  async relist(servers: readonly object[]): Promise<void> {
    this.host.files.set("/etc/servers.json", JSON.stringify({ servers }));
    await this.parts.catalogue.reloadManaged(this.host, "/etc/servers.json", this.parts.store);
  }

  /** For clients that are other programs: limits are those of the real clock, and what takes time takes none. */
  static async withRealClock(auth: Settings["auth"] = "off"): Promise<Home> {
    const clock = { now: () => Date.now(), monotonic: () => performance.now() };
    const home = await Home.start({ clock }, {}, auth);
    home.host.patient = false;
    home.host.setClock(Date.now());
    return home;
  }

  get port(): number {
    return this.listening.port;
  }

  async stop(): Promise<void> {
    await this.listening.stop();
    this.parts.store.close();
    rmSync(this.directory, { recursive: true, force: true });
  }

  /** Time goes by; otherwise the clock stands. */
  pass(ms: number): Promise<void> {
    return this.host.pass(ms);
  }

  raw(bytes: string | Uint8Array): Promise<Answer> {
    return exchange(this.port, bytes);
  }

  /** A device of the LAN uses these addresses. */
  hear(mac: string, ...addresses: readonly string[]): void {
    const heard = { interface: "lan0", mac: mac as Mac, heardMsAgo: 0, isLost: false };
    for (const address of addresses) this.parts.devices.saw({ ...heard, address: ip(address) });
  }

  /** A request of its own second, so that no limit is in the way. */
  async send(...asked: Parameters<typeof request>): Promise<Answer> {
    await this.pass(1_000);
    return this.again(...asked);
  }

  /** The status of an answer, with all that its body says. */
  // biome-ignore lint/suspicious/noExplicitAny: what came over the wire is for the test to judge
  async ask(method: string, path: string, body?: object): Promise<any> {
    const { status, json } = await this.send(method, path, body);
    return { status, ...json };
  }

  /** A request in the second of the one before it. */
  again(...asked: Parameters<typeof request>): Promise<Answer> {
    return this.raw(request(...asked));
  }

  /** Connects the tunnel to a server of the current provider. */
  async connect(server = SE1.hostname): Promise<void> {
    const { status, text } = await this.send("POST", "/api/connect", { server });
    if (status !== 200) throw new Error(text);
  }

  // biome-ignore lint/suspicious/noExplicitAny: what came over the wire is for the test to judge
  async status(): Promise<any> {
    return (await this.send("GET", "/api/status")).json;
  }

  /** How often the kernel was asked for the firewall's table. */
  get listings(): number {
    return this.host.commands.filter((command) => command === LISTING).length;
  }

  /** Holds up a command that comes from now on; `begun` is when it has come. */
  hold(command: string): { begun: Promise<void>; release: () => void } {
    const begun = Promise.withResolvers<void>();
    const held = Promise.withResolvers<void>();
    this.host.holds = (each) => {
      if (each !== command) return null;
      begun.resolve();
      return held.promise;
    };
    const release = () => {
      this.host.holds = () => null;
      held.resolve();
    };
    return { begun: begun.promise, release };
  }
}
