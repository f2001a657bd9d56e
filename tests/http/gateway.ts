import { GatewayError } from "../../src/errors.ts";
import type { GatewayEvent } from "../../src/http/event.ts";
import type { Figures, Gateway } from "../../src/http/gateway.ts";
import type { CustomServer, ImportedConfig, Provider, Stored } from "../../src/servers/schema.ts";
import { PROVIDERS } from "../../src/servers/schema.ts";
import { histogramOf } from "../../src/tunnel/histogram.ts";
import type { Status } from "../../src/tunnel/schema.ts";

/** A gateway that lives in memory: it keeps names and remembers what it was asked, and touches no kernel. */
export class MemoryGateway implements Gateway {
  current: Provider = "managed";
  connected = "";
  location = "";
  killSwitch = true;
  /** What the next call throws. */
  failure: unknown = null;
  trouble: string | null = null;
  warnings: string[] = [];
  readonly custom = new Map<string, CustomServer>();
  readonly imported = new Map<string, ImportedConfig>();
  readonly removed: string[] = [];
  tunnel: Figures["tunnel"] = null;
  alerts = 0;
  connects = histogramOf([0.1, 1]);
  /** What `status` waits for: a test can hold a reading up. */
  pace: Promise<void> | null = null;
  readings = 0;
  readonly #listeners = new Set<(event: GatewayEvent) => void>();

  async status(): Promise<Status> {
    this.#fail();
    this.readings++;
    const status = this.#status();
    await this.pace;
    return status;
  }

  #status() {
    return {
      connected: this.connected !== "",
      provider: this.current,
      server: this.connected,
      ip: "",
      location: this.connected === "" ? "" : this.location,
      uptime: "0h 0m",
      killswitch_active: this.killSwitch,
      state: this.connected === "" ? ("disconnected" as const) : ("connected" as const),
      uptime_seconds: 0,
      latest_handshake: null,
      rx_bytes: 0,
      tx_bytes: 0,
      error: null,
    };
  }

  providers() {
    return { providers: [...PROVIDERS], current: this.current };
  }

  use(provider: Provider) {
    this.current = provider;
  }

  servers(): ReturnType<Gateway["servers"]> {
    const record = { hostname: "se-1", ipv4: "192.0.2.1", type: "WireGuard" as const, provider: "Managed" };
    return { servers: { Sweden: { Stockholm: [record] } }, provider: this.current };
  }

  async connect(name: string): Promise<void> {
    this.#fail();
    if (name === "Sweden") return this.connect("se-1");
    if (name !== "se-1" && !this.custom.has(name)) {
      throw new GatewayError("not_found", `no server ${JSON.stringify(name)} in ${this.current}`);
    }
    this.connected = name;
    this.location = "Stockholm, Sweden";
  }

  async disconnect() {
    this.connected = "";
    return { killSwitch: this.killSwitch };
  }

  addCustom(server: CustomServer) {
    this.#fail();
    if (this.custom.has(server.name)) throw new GatewayError("bad_request", "name is taken");
    this.custom.set(server.name, server);
  }

  remove(provider: Stored, name: string) {
    if (name === this.connected)
      throw new GatewayError("bad_request", "the tunnel uses it: disconnect first");
    if (!this[provider].delete(name)) {
      throw new GatewayError("not_found", `no server ${JSON.stringify(name)} in ${provider}`);
    }
    this.removed.push(name);
  }

  importConfig(config: ImportedConfig) {
    this.imported.set(config.name, config);
    return this.warnings;
  }

  keyPair() {
    return { private_key: "cHJpdmF0ZSBrZXkgZm9yIHRlc3RzLCAzMiBieXRlcyE=", public_key: "cHVibGlj" };
  }

  async health() {
    this.#fail();
    return this.trouble;
  }

  subscribe(listener: (event: GatewayEvent) => void) {
    this.#listeners.add(listener);
    return () => void this.#listeners.delete(listener);
  }

  get listeners() {
    return this.#listeners.size;
  }

  tell(event: GatewayEvent) {
    for (const listener of this.#listeners) listener(event);
  }

  /** Connects or disconnects, and tells of it. */
  move(server: string) {
    this.connected = server;
    this.tell({ type: "status_change", payload: this.#status() });
  }

  async figures() {
    return {
      status: await this.status(),
      tunnel: this.tunnel,
      alerts: this.alerts,
      connects: this.connects,
    };
  }

  #fail() {
    const failure = this.failure;
    this.failure = null;
    if (failure !== null) throw failure;
  }
}
