import type { Families, Place, ServerNumber } from "./place.ts";

/** A program, or a set of rules, that makes a machine a VPN gateway; and all that the judge has to know of it. */
export interface Gateway {
  readonly name: string;
  /** What is played only with gateways that claim to survive it. */
  readonly claims: readonly "a flush"[];
  /** Installs its files; the network is up and nothing is judged yet. */
  prepare(place: Place): Promise<unknown>;
  /** What the machine starts before its network: rules that are loaded early. */
  boot(place: Place): Promise<unknown>;
  /** Starts its service, if it has one, once the network is there. */
  start(place: Place): Promise<Running>;
}

/** What a person can ask of it. */
export interface Running {
  connect(server: ServerNumber, families: Families): Promise<unknown>;
  disconnect(): Promise<unknown>;
  /** Only of a machine; what stands in a namespace boots by its files. */
  reboot?(): Promise<unknown>;
}

interface Scripts {
  name: string;
  /** Each runs by itself, as root on the gateway. They find the variables of `Place` in their environment. */
  prepare?: readonly string[];
  boot?: string;
  connect: string;
  disconnect: string;
  /** Lines for the section [Interface] of the files for wg-quick. */
  hooks?: readonly string[];
}

/** A gateway that is commands of a shell. */
export function scripted({
  name,
  prepare = [],
  boot = "",
  connect,
  disconnect,
  hooks = [],
}: Scripts): Gateway {
  return {
    name,
    claims: [],
    prepare: async (place) => {
      place.writeConfigs(hooks);
      for (const script of prepare) await place.run(script);
    },
    boot: (place) => place.run(boot),
    start: async (place) => {
      let used: [ServerNumber, Families] = [0, "IPv4 and IPv6"];
      return {
        connect: (...which) => {
          used = which;
          return place.run(connect, ...used);
        },
        disconnect: () => place.run(disconnect, ...used),
      };
    },
  };
}
