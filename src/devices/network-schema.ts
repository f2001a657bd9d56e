import { type Static, Type } from "typebox";
import { answerOf, facts, schemaOf } from "../base/fact.ts";
import { objectOf } from "../base/object.ts";
import type { Exit } from "../killswitch/policy.ts";
import { formatExit } from "./exit.ts";
import type { NetworkRecord } from "./network-record.ts";
import { GivenQuota, Rate, UsedQuota } from "./values.ts";

/** What is read of a network of the LAN. */
export interface SeenNetwork {
  interface: string;
  /** Whether it is a mesh. */
  mesh: boolean;
  record: NetworkRecord;
  /** In force. */
  exit: Exit;
  isScheduled: boolean;
  rate: Rate | null;
  quota: UsedQuota | null;
  prefixes: readonly string[] | null;
  devices: number;
  reaches: readonly string[];
}

const NETWORK_FACTS = facts<SeenNetwork>()({
  interface: {
    schema: Type.String(),
    description: "the LAN interface, which the network is known by: a card, a VLAN, a bridge",
    of: (network) => network.interface,
  },
  mesh: {
    schema: Type.Optional(Type.Boolean()),
    description: "only of a mesh, whose devices are known by their addresses: true",
    of: ({ mesh }) => mesh || undefined,
  },
  name: {
    schema: Type.String(),
    description: "chosen by a person; may be empty",
    of: ({ record }) => record.name ?? "",
  },
  exit: {
    schema: Type.String(),
    description: "of its devices without an exit of their own: name of a tunnel, or blocked",
    of: ({ exit }) => formatExit(exit),
  },
  exit_order: {
    schema: Type.Optional(Type.Array(Type.String())),
    description: "only of a network with several exits: all of them, in order; `exit` is the one in use",
    of: ({ record: { exit }, isScheduled }) =>
      exit !== null && exit.length > 1 && !isScheduled ? exit.map(formatExit) : undefined,
  },
  assigned: {
    schema: Type.Boolean(),
    description: "whether the network has an exit of its own; if not, it is the home's default exit",
    of: ({ record, isScheduled }) => record.exit !== null || isScheduled,
  },
  page: {
    schema: Type.Boolean(),
    description: "whether its devices may use the gateway's page, and all else on it besides DNS and DHCP",
    of: ({ record }) => record.page,
  },
  others: {
    schema: Type.Boolean(),
    description: "whether packets pass between it and the other networks that have this, too",
    of: ({ record }) => record.others,
  },
  reaches: {
    schema: Type.Array(Type.String()),
    description: "the interfaces of the networks that it reaches, and that reach it",
    of: ({ reaches }) => [...reaches],
  },
  present: {
    schema: Type.Boolean(),
    description: "whether it is there now; the decisions about a network that is gone are kept",
    of: ({ prefixes }) => prefixes !== null,
  },
  prefixes: {
    schema: Type.Array(Type.String()),
    description: "the addresses of its devices; empty while it is not there",
    of: ({ prefixes }) => [...(prefixes ?? [])],
  },
  rate: {
    schema: Type.Optional(Rate),
    description: "only of a network with a limit, which all of its devices have together, beside their own",
    of: ({ rate }) => rate ?? undefined,
  },
  quota: {
    schema: Type.Optional(UsedQuota),
    description: "only of a network with a quota, which all of its devices have together, beside their own",
    of: ({ quota }) => quota ?? undefined,
  },
  devices: {
    schema: Type.Integer(),
    description: "how many known devices were seen there last",
    of: ({ devices }) => devices,
  },
});

/** A network of the LAN. */
export const LanNetwork = schemaOf(NETWORK_FACTS);
export type LanNetwork = Static<typeof LanNetwork>;

export function networkAnswer(network: SeenNetwork): LanNetwork {
  return answerOf(NETWORK_FACTS, network);
}

/** The answer of `/api/networks`. */
export const LanNetworkList = objectOf({
  networks: Type.Array(LanNetwork),
  default_exit: Type.String({ description: "exit of the networks without one of their own" }),
});
export type LanNetworkList = Static<typeof LanNetworkList>;

/** What a person may decide about a network. */
export const LanNetworkChange = objectOf({
  name: Type.Optional(
    Type.Union([Type.String({ minLength: 1 }), Type.Null()], {
      description: "1 to 64 characters; null for none",
    }),
  ),
  exit: Type.Optional(
    Type.Union([Type.String({ minLength: 1 }), Type.Array(Type.String()), Type.Null()], {
      description:
        "name of a tunnel, or blocked; or several tunnels in order, of which the first that is up is used, optionally with blocked at the end; null for the home's default exit",
    }),
  ),
  page: Type.Optional(
    Type.Boolean({ description: "false closes the gateway to its devices, except DNS and DHCP" }),
  ),
  rate: Type.Optional(
    Type.Union([Rate, Type.Null()], {
      description: "how fast all of its devices may be together; null for no limit",
    }),
  ),
  quota: Type.Optional(
    Type.Union([GivenQuota, Type.Null()], {
      description: "how much all of its devices may send and receive together; null for any amount",
    }),
  ),
  others: Type.Optional(
    Type.Boolean({
      description: "true lets in the other networks that have this, too, and lets its devices out to them",
    }),
  ),
});
export type LanNetworkChange = Static<typeof LanNetworkChange>;
