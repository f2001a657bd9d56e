import type { Alarm, AlertCode } from "../../src/base/alert.ts";
import { alertText } from "../../src/base/alert-rows.ts";
import { Bus } from "../../src/base/bus.ts";
import { type Settings, settingsFrom } from "../../src/base/settings.ts";
import { Devices } from "../../src/devices/devices.ts";
import { KillSwitch, type KillSwitchEvents } from "../../src/killswitch/killswitch.ts";
import { chainsListed, elementsOf, finalRulesStand } from "../../src/killswitch/listing.ts";
import { isKillSwitchWanted, OperatorSwitch } from "../../src/killswitch/operator-switch.ts";
import { Repairs } from "../../src/killswitch/repairs.ts";
import { networkFinder } from "../../src/network/finder.ts";
import type { Place } from "../../src/servers/place.ts";
import type { Server } from "../../src/servers/schema.ts";
import { Store } from "../../src/store/store.ts";
import type { Known } from "../../src/tunnel/adoption.ts";
import type { Controller } from "../../src/tunnel/controller.ts";
import type { Register } from "../../src/tunnel/dialer.ts";
import { QualitySettings } from "../../src/tunnel/quality-settings.ts";
import { SavedState } from "../../src/tunnel/saved-state.ts";
import type { Status } from "../../src/tunnel/schema.ts";
import type { Target } from "../../src/tunnel/target.ts";
import { type TunnelEvents, Tunnels } from "../../src/tunnel/tunnels.ts";
import { publicKeyOf } from "../../src/wireguard/key.ts";
import { cidrs, ips } from "../fake/address.ts";
import { FakeHost } from "../fake/host.ts";
import { inDirectory } from "./directory.ts";

const BASE = "wg";

export function server(name: string, number: number, change: Partial<Server["config"]["peer"]> = {}): Server {
  const key = (byte: number) => new Uint8Array(32).fill(byte).toBase64();
  return {
    name,
    provider: "custom",
    label: "Custom",
    country: "Unknown",
    city: "Unknown",
    location: "Somewhere",
    config: {
      interface: {
        privateKey: key(8 * number),
        addresses: cidrs(`10.64.0.${number}/32`, `fd00:64::${number}/128`),
        dns: ips(`10.64.0.${number + 100}`),
        searchDomains: [],
      },
      peer: {
        publicKey: publicKeyOf(key(8 * number + 128)),
        endpoint: { host: `192.0.2.${number}`, port: 51820 },
        allowedIps: cidrs("0.0.0.0/0", "::/0"),
        ...change,
      },
    },
  };
}

export const ONE = server("one", 1);
export const TWO = server("two", 2, {
  persistentKeepalive: 0,
  allowedIps: cidrs("0.0.0.0/0", "192.0.0.0/8"),
});
export const THREE = server("three", 3, { persistentKeepalive: 15 });
export const SERVERS = [ONE, TWO, THREE];
const KNOWN: Known = {
  all: () => SERVERS,
  server: (provider, name) => SERVERS.find((one) => one.provider === provider && one.name === name) ?? null,
  reachedAt: (server) => server,
};

/** A place with these servers, of the first one's country. */
export function placeOf(servers: readonly Server[]): Place {
  const { provider, country } = servers[0] ?? ONE;
  return { name: country, provider, country, city: null, servers };
}

export const FAKE_SETTINGS: Settings = settingsFrom({ interface: BASE });

/** The real tunnel on a fake kernel; `restart` is a new process on the same kernel and the same disk. */
export class Gateway {
  tunnels: Tunnels;
  operatorSwitch!: OperatorSwitch;
  devices!: Devices;
  store!: Store;
  savedState: SavedState;
  qualitySettings!: QualitySettings;
  readonly log: string[] = [];
  readonly alerts: AlertCode[] = [];
  /** The words of the alerts. */
  readonly warnings: string[] = [];
  /** Servers that their provider has changed meanwhile. */
  changed: readonly Server[] = [];
  /** What stands in for a dead server, as `--failover` allows it. */
  alternatives: readonly Server[] = [];
  /** What the names of an order stand for. */
  targets: readonly Target[] = SERVERS;
  autoconnect = true;
  /** What a server that registers keys assigns. */
  register: Register = () => Promise.reject(new Error("no server registers keys"));
  private watching = new AbortController();

  private constructor(
    private readonly directory: string,
    readonly host: FakeHost,
  ) {
    this.savedState = this.remembered();
    this.tunnels = this.newTunnels();
  }

  get controller(): Controller {
    return this.tunnels.main.controller;
  }

  static in(directory: string, host = new FakeHost()): Gateway {
    const lan = host.links.get("lan0");
    if (lan?.addresses.length === 0) lan.addresses.push("192.168.7.1/24", "fe80::1/64");
    return new Gateway(directory, host);
  }

  static async started(directory: string, host = new FakeHost()): Promise<Gateway> {
    const gateway = Gateway.in(directory, host);
    await gateway.tunnels.start(KNOWN);
    return gateway;
  }

  /** A gateway whose supervisor watches; time goes by in `host.pass`. */
  static async watched(directory: string, host = new FakeHost()): Promise<Gateway> {
    const gateway = await Gateway.started(directory, host);
    host.patient = true;
    gateway.watch();
    await host.pass(5_000);
    return gateway;
  }

  watch(): void {
    this.tunnels.watch(this.watching.signal);
  }

  /** The process ends, whatever it was doing, and a new one starts. */
  async restart(): Promise<void> {
    this.reborn();
    await this.tunnels.start(KNOWN);
  }

  reborn(): void {
    this.watching.abort();
    this.watching = new AbortController();
    this.host.kill();
    this.savedState = this.remembered();
    this.tunnels = this.newTunnels();
  }

  status(): ReturnType<Controller["status"]> {
    return this.controller.status("custom");
  }

  async look(): Promise<void> {
    await this.tunnels.supervisor.look().catch(() => {});
    for (const { supervisor } of this.tunnels.all()) await supervisor.look();
  }

  /** Time goes by and the tunnel is looked at, until a look finds nothing left to do. */
  async comeToRest(): Promise<void> {
    for (let looks = 0; looks < 5; looks++) {
      await this.look().catch(() => {});
      await this.host.sleep(61_000);
    }
    await this.look();
  }

  private remembered(): SavedState {
    this.store = Store.open(this.directory, this.host.now());
    this.qualitySettings = new QualitySettings(this.store);
    return new SavedState(this.store, (code) => void this.alerts.push(code));
  }

  private newTunnels(): Tunnels {
    const { host, savedState, log, alerts, warnings } = this;
    const note = (message: string) => void log.push(message);
    const alarm: Alarm = (code, args) => {
      alerts.push(code);
      warnings.push(alertText(code, args));
    };
    const repairs = new Repairs(host, alarm);
    const events = new Bus<TunnelEvents & KillSwitchEvents>(note);
    const isOn = () => isKillSwitchWanted(savedState);
    const killSwitch = new KillSwitch(host, isOn, repairs, alarm, { slots: [], events });
    this.operatorSwitch = new OperatorSwitch({
      ...{ savedState, store: this.store, killSwitch, alarm },
      settle: (decide) => this.controller.settle(decide),
    });
    this.devices = new Devices({
      ...{ host, store: this.store, killSwitch, log: { warn: note } },
      tunnelNames: () => this.tunnels.all().map(({ name }) => name),
      dhcp: null,
      events: { publish: () => {} },
      alarm,
    });
    events.subscribe("other_firewalls_changed", () => this.devices.check());
    events.subscribe("neighbour_changed", ({ payload }) => this.devices.saw(payload));
    return new Tunnels({
      register: (server, send) => this.register(server, send),
      host,
      savedState,
      repairs,
      killSwitch,
      findNetwork: networkFinder(host, FAKE_SETTINGS, savedState, { warn: note }),
      base: BASE,
      userspace: host.userspace,
      autoconnect: this.autoconnect,
      qualitySettings: this.qualitySettings,
      latest: (server) => this.changed.find(({ name }) => name === server.name) ?? server,
      alternatives: () => this.alternatives,
      targets: { found: ({ server }) => this.targets.find(({ name }) => name === server) ?? null },
      log: { info: note, warn: note },
      alarm,
      events,
      unlessUsed: (tunnel, remove) => this.devices.unlessUsed(tunnel, remove),
    });
  }
}

/** All that the kernel holds, spelled as if the tunnel were in the first slot; who makes the interface is no part of it. */
export function kernelState(host: FakeHost): string {
  const network = [...host.links].map(([name, { device, userspace: _, ...link }]) => [
    name,
    {
      ...link,
      addresses: link.addresses.toSorted(),
      device: device && {
        ...device,
        peer: device.peer && { endpoint: device.peer.endpoint, keepalive: device.peer.keepalive },
      },
    },
  ]);
  const text = JSON.stringify(
    {
      network: network.toSorted((a, b) => String(a[0]).localeCompare(String(b[0]))),
      routes: [...host.routes].toSorted(),
      rules: { v4: host.rules["-4"].toSorted(), v6: host.rules["-6"].toSorted() },
      table: host.table?.split("\n") ?? null,
    },
    null,
    1,
  );
  const second = host.links.has(`${BASE}1`) && !host.links.has(`${BASE}0`);
  if (!second) return text;
  return text.replaceAll(`${BASE}1`, `${BASE}0`).replaceAll(/(zone set|ct zone|ct zone !=) 2/g, "$1 1");
}

const fresh = new Map<Server | null, Promise<string>>();

/** The kernel of a gateway that was started and then led straight to where `status` is; it is made once for each server. */
export function freshState({
  connected,
  server: name,
}: Pick<Status, "connected" | "server">): Promise<string> {
  const target = (connected && SERVERS.find((one) => one.name === name)) || null;
  const state = fresh.get(target) ?? inDirectory((directory) => freshKernel(directory, target));
  fresh.set(target, state);
  return state;
}

async function freshKernel(directory: string, target: Server | null): Promise<string> {
  const gateway = await Gateway.started(directory);
  if (target !== null) await gateway.controller.connect(target);
  return kernelState(gateway.host);
}

/** The servers that a table of the firewall permits without a relay, by IPv4. */
export function serversIn(table: string | null): string[] {
  return elementsOf("servers_ipv4", chainsListed(table ?? "")).map((server) => server.replace(" . ", ":"));
}

export function stoodAlways(host: FakeHost): boolean {
  return host.tables.every((table) => table !== null && finalRulesStand(table));
}
