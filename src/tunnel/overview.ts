import { answerOf } from "../base/fact.ts";
import { shared } from "../base/readings.ts";
import { ENGLISH } from "../base/voice.ts";
import { MAIN } from "../killswitch/policy.ts";
import type { FoundLayers } from "../killswitch/protection.ts";
import type { Catalogue } from "../servers/catalogue.ts";
import type { Voice } from "../shared/saying.ts";
import { type DeviceFacts, verdictOf } from "../shared/verdict.ts";
import { type Around, type Tone, textsOf } from "../shared/verdict-texts.ts";
import { ROOM_FACTS, type SeenGateway } from "./gateway-facts.ts";
import type { PastConnections } from "./past-connections.ts";
import type { SavedState } from "./saved-state.ts";
import type { Status, TunnelRow } from "./schema.ts";
import type { State } from "./state.ts";
import type { Tunnel } from "./tunnel.ts";
import { type Past, USE_FACTS } from "./tunnel-facts.ts";
import type { Tunnels } from "./tunnels.ts";
import { shownVerdict, type Verdict } from "./verdict.ts";

/** Devices, forwards and events are in rooms that come after this one, so it has only their shapes. */
interface Deps {
  tunnels: Tunnels;
  catalogue: Pick<Catalogue, "current">;
  savedState: Pick<SavedState, "trouble">;
  past: Pick<PastConnections, "last">;
  devices: SeenGateway["devices"] & {
    /** Who uses which exit; null until it is first known who is there. */
    use(): Promise<DeviceFacts | null>;
    /** The number of known devices by exit. */
    counts(): Record<string, number>;
    readonly exitsLost: string | null;
  };
  /** What leaves outside every tunnel now. */
  destinations: SeenGateway["destinations"] & { readonly outside: readonly string[] };
  forwards: { portsOf(tunnel: string): number[] };
  alerts: { readonly damage: string | null };
}

/** The page, which has a verdict, may be asked for as often as anyone likes: the kernel is not read for each request. */
const PAGE_REST_MS = 100;

/** What the gateway reports about itself and its tunnels. Reading the kernel's state may start programs. */
export class Overview {
  private readonly seen = shared(() => this.seenIn());
  private readonly seenForPage = shared(() => this.seenIn(), PAGE_REST_MS);
  readonly status = async () => (await this.seen()).status;
  /** `main` first, then by name. */
  readonly rows = shared(() => Promise.all(this.deps.tunnels.all().map((tunnel) => this.rowOf(tunnel))));
  /** The status, and each row with the state that it tells: all of one moment, so that none contradicts another. */
  readonly whole = shared(async () => {
    const states = this.deps.tunnels.all().map((tunnel) => ({ tunnel, state: tunnel.controller.state }));
    const main = states.find(({ tunnel }) => tunnel === this.deps.tunnels.main);
    const [seen, tunnels] = await Promise.all([
      this.seenIn(main?.state),
      Promise.all(states.map(async ({ tunnel, state }) => ({ row: await this.rowOf(tunnel, state), state }))),
    ]);
    return { ...seen, tunnels };
  });
  /** Null while the kill switch works as promised; otherwise one line that says why it does not. */
  readonly health = shared(
    async () => (await this.deps.tunnels.protection.fault()) ?? this.deps.tunnels.fault,
  );

  constructor(private readonly deps: Deps) {}

  async statusIn(state?: State): Promise<Status> {
    return (await this.seenIn(state)).status;
  }

  /** The status, and its verdict in any language. */
  private async seenIn(state = this.deps.tunnels.main.controller.state) {
    const { tunnels, catalogue, savedState, devices, forwards, alerts } = this.deps;
    const { main, uplink } = tunnels;
    const past = this.pastOf(main, state);
    // Each look at the kernel may start programs. The firewall may be read although the rest cannot.
    const found = await tunnels.protection.layers().catch(() => null);
    const firewall = found?.layers.find(({ name }) => name === "firewall");
    const read = await main.controller.status(catalogue.current(), state, firewall?.holds);
    const error = read.error ?? savedState.trouble ?? devices.exitsLost ?? alerts.damage;
    const { verdict, around: about } = await this.judged(found, state, error);
    const verdictIn = (voice: Voice) => shownVerdict(verdict, about, voice);
    const around = { ...past, uplink: uplink.quality.shown, ports: forwards.portsOf(main.name) };
    const facts = answerOf(ROOM_FACTS, { ...this.deps, ...around, verdict: verdictIn(ENGLISH) });
    const status: Status = { ...read, error, ...facts };
    return { status, verdictIn, tone: textsOf(verdict, about).tone };
  }

  /** The verdict on the home while `main` is in this state. */
  private async judged(found: FoundLayers | null, state: State, error: string | null) {
    const { tunnels, devices, destinations } = this.deps;
    const use = await devices.use();
    const trouble = found?.trouble ?? tunnels.fault;
    const killswitch = found && { wanted: tunnels.killSwitch.isWanted, layers: found.layers, error: trouble };
    const rows = tunnels.all().map(({ name, controller }) => ({
      ...controller.known(name === MAIN ? state : undefined),
      devices: use?.counts[name] ?? 0,
    }));
    const verdict = verdictOf({ killswitch, tunnels: rows, devices: use });
    const around: Around = {
      error,
      online: tunnels.main.controller.network.online,
      outside: { devices: found?.direct ?? devices.direct.devices.length, targets: destinations.outside },
    };
    return { verdict, around };
  }

  /** The verdict, and its tone; null while it is not known. */
  async verdict(voice: Voice): Promise<(Verdict & { tone: Tone }) | null> {
    const seen = await this.seenForPage().catch(() => null);
    if (seen === null) return null;
    const verdict = seen.verdictIn(voice);
    return verdict.name === "unknown" ? null : { ...verdict, tone: seen.tone };
  }

  async rowOf(tunnel: Tunnel, state = tunnel.controller.state): Promise<TunnelRow> {
    const past = this.pastOf(tunnel, state);
    const row = await tunnel.controller.row(state);
    const devices = this.deps.devices.counts()[tunnel.name] ?? 0;
    return { ...row, ...answerOf(USE_FACTS, { ...past, devices }) };
  }

  /** Of the same moment as the state. */
  private pastOf({ name, controller, quality }: Tunnel, state: State): Past {
    return {
      quality: quality.measuredIn(state)?.quality ?? null,
      last: controller.leadsNowhere ? this.deps.past.last(name) : null,
    };
  }
}
