import { Type } from "typebox";
import { facts, inOrder } from "../base/fact.ts";
import { Provider } from "../servers/schema.ts";
import { Quality } from "./quality-facts.ts";
import { STATES, StateName } from "./state.ts";
import { CONNECTION, PAST, type Past, type SeenTunnel, upSecondsOf } from "./tunnel-facts.ts";
import { Verdict } from "./verdict.ts";

/** What is read with `main`. */
export interface SeenMain extends SeenTunnel {
  /** The current one. */
  provider: Provider;
  killSwitch: boolean;
}

/** What is read of other rooms. */
export interface SeenGateway extends Past {
  /** `limitedCount` have a rate of their own. */
  devices: { readonly direct: { devices: readonly unknown[] }; readonly limitedCount: number };
  destinations: {
    /** The number of rules by exit. */
    counts(): Record<string, number>;
  };
  uplink: Quality | null;
  /** Of `main`. */
  ports: number[];
  verdict: Verdict;
}

const OWN = facts<SeenMain>()({
  connected: {
    schema: Type.Boolean(),
    description: "a WireGuard handshake with the server succeeded and has not expired",
    of: ({ live }) => live !== null,
    metric: { help: "1 while there is a live session with a server." },
  },
  provider: {
    schema: Provider,
    description: "the current one, even if a tunnel of another provider is up",
    of: ({ provider }) => provider,
  },
  uptime: {
    schema: Type.String({ examples: ["2h 34m"] }),
    description: "`uptime_seconds` in hours and minutes",
    of: (seen) => {
      const minutes = Math.floor(upSecondsOf(seen) / 60);
      return `${Math.floor(minutes / 60)}h ${minutes % 60}m`;
    },
  },
  killswitch_active: {
    schema: Type.Boolean(),
    description: "read from the kernel",
    of: ({ killSwitch }) => killSwitch,
    metric: { help: "1 while the kernel has the kill switch in place." },
    entity: { key: "kill_switch", name: "Kill switch", icon: "mdi:shield-lock" },
  },
  state: {
    schema: StateName,
    of: ({ state }) => state.name,
    metric: { help: "1 for the state that the tunnel is in.", values: STATES },
  },
});

/** The facts that the controller of `main` knows. */
export const MAIN_FACTS = inOrder({ ...CONNECTION, ...OWN }, [
  "connected",
  "provider",
  "server",
  "ip",
  "location",
  "uptime",
  "killswitch_active",
  "state",
]);

/** The facts for which other rooms are asked. */
export const ROOM_FACTS = facts<SeenGateway>()({
  direct_devices: {
    schema: Type.Integer({ minimum: 0 }),
    description: "how many devices have the exit `direct`",
    of: ({ devices }) => devices.direct.devices.length,
    entity: { name: "Devices outside the tunnel", state_class: "measurement", icon: "mdi:shield-off" },
  },
  direct_destinations: {
    schema: Type.Integer({ minimum: 0 }),
    description: "how many rules for destinations have the exit `direct`",
    of: ({ destinations }) => destinations.counts().direct ?? 0,
    entity: { name: "Destinations outside the tunnel", state_class: "measurement", icon: "mdi:shield-off" },
  },
  verdict: {
    schema: Verdict,
    description: "the state of the whole home, as the page and the command line show it",
    of: ({ verdict }) => verdict,
    entity: {
      name: "Home",
      value_template: "{{ value_json.verdict.title }}",
      attributes: true,
      icon: "mdi:home-lock",
    },
  },
  ...PAST,
  uplink_quality: {
    schema: Type.Optional(Quality),
    description: "the same for the uplink, by ARP requests to its router",
    of: ({ uplink }) => uplink ?? undefined,
  },
  forwarded_ports: {
    schema: Type.Optional(Type.Array(Type.Integer())),
    description: "ports of the server that lead to devices; missing if there are none",
    of: ({ ports }) => (ports.length > 0 ? ports : undefined),
  },
  limited_devices: {
    schema: Type.Optional(Type.Integer({ minimum: 1 })),
    description: "how many devices have a rate of their own; missing if none",
    of: ({ devices }) => devices.limitedCount || undefined,
  },
});

/** The gateway's own, without those of `main`. */
export const GATEWAY_FACTS = { ...OWN, ...ROOM_FACTS };
