import { type TOptional, Type } from "typebox";
import { type Fact, facts } from "../base/fact.ts";
import type { Exit } from "../killswitch/policy.ts";
import { isUsedUp } from "../shared/quotas.ts";
import { formatExit } from "./exit.ts";
import { makerOf } from "./maker.ts";
import type { Presence } from "./neighbourhood.ts";
import type { DeviceRecord } from "./record.ts";
import { LABELS, type LabelKey, Rate, UsedQuota } from "./values.ts";

/** What is read of a device. */
export interface SeenDevice {
  id: string;
  record: DeviceRecord;
  presence: Presence | null;
  /** The name of its network. */
  network: string | null;
  /** The name that it reports. */
  told: string | undefined;
  /** In force. */
  exit: Exit;
  isScheduled: boolean;
  seenAt: string | null;
  carried: { rx: number; tx: number };
  rate: Rate | null;
  quota: UsedQuota | null;
  /** Of its network. */
  networkQuota: UsedQuota | null;
  isRemote: boolean;
}

const labels = Object.fromEntries(
  Object.entries(LABELS).map(([key, schema]) => [
    key,
    { schema: Type.Optional(schema), of: ({ record }: SeenDevice) => record[key as LabelKey] ?? undefined },
  ]),
) as { [Key in LabelKey]: Fact<SeenDevice, TOptional<(typeof LABELS)[Key]>> };

/** Of a device of the LAN, or one away from home. Not in /metrics, because anyone on the LAN can invent devices. */
export const DEVICE_FACTS = facts<SeenDevice>()({
  id: {
    schema: Type.String(),
    description:
      "MAC address in lower case, or a prefix: behind another router of the LAN, or a device away from home",
    of: ({ id }) => id,
  },
  name: {
    schema: Type.String(),
    description: "chosen by a person, or else reported by the device; may be empty",
    of: ({ record, told }) => record.name ?? told ?? "",
  },
  named: {
    schema: Type.Boolean(),
    description: "whether a person chose the name",
    of: ({ record }) => record.name !== null,
  },
  addresses: {
    schema: Type.Array(Type.String()),
    description: "IPv4 and IPv6, without link-local ones; the last known ones if it is offline",
    of: ({ presence }) => [...(presence?.addresses ?? [])],
  },
  interface: {
    schema: Type.Union([Type.String(), Type.Null()]),
    description: "where it was seen last",
    of: ({ presence }) => presence?.interface ?? null,
  },
  network: {
    schema: Type.Optional(Type.String()),
    description: "the name of the network there; missing if nobody has named it",
    of: ({ network }) => network ?? undefined,
  },
  also_on: {
    schema: Type.Optional(Type.Array(Type.String())),
    description:
      "only if its MAC address is on other interfaces at the same time: it has moved, or another machine uses its address",
    of: ({ presence }) => {
      const others = presence?.links?.filter((link) => link !== presence.interface) ?? [];
      return others.length > 0 ? others : undefined;
    },
  },
  exit: {
    schema: Type.String(),
    description: "name of a tunnel, blocked, or direct",
    of: ({ exit }) => formatExit(exit),
    isAttribute: true,
  },
  exit_order: {
    schema: Type.Optional(Type.Array(Type.String())),
    description: "only of a device with several exits: all of them, in order; `exit` is the one in use",
    // Also while a schedule has given it one exit: afterwards the order holds again.
    of: ({ record: { exit } }) => (exit !== null && exit.length > 1 ? exit.map(formatExit) : undefined),
  },
  assigned: {
    schema: Type.Boolean(),
    description:
      "whether a person or a schedule chose the exit; if not, it is the default exit, of its network or of the home",
    of: ({ record, isScheduled }) => record.exit !== null || isScheduled,
  },
  online: {
    schema: Type.Boolean(),
    description: "whether it was heard in the last five minutes",
    of: ({ presence }) => presence?.isOnline ?? false,
  },
  seen_at: {
    schema: Type.Union([Type.String(), Type.Null()]),
    description: "ISO 8601; null if it was not seen since the service started",
    of: ({ seenAt }) => seenAt,
  },
  rx_bytes: {
    schema: Type.Integer(),
    description: "what the gateway has forwarded to it",
    of: ({ carried }) => carried.rx,
  },
  tx_bytes: {
    schema: Type.Integer(),
    description: "what the gateway has forwarded from it",
    of: ({ carried }) => carried.tx,
  },
  fixed_address: {
    schema: Type.Union([Type.String(), Type.Null()]),
    description: "the IPv4 address that the gateway's DHCP server gives it, by a person's choice",
    of: ({ record }) => record.address,
  },
  rate: {
    schema: Type.Optional(Rate),
    description: "only of a device with a limit",
    of: ({ rate }) => rate ?? undefined,
  },
  quota: {
    schema: Type.Optional(UsedQuota),
    description: "only of a device with a quota",
    of: ({ quota }) => quota ?? undefined,
  },
  network_used_up: {
    schema: Type.Optional(Type.Literal(true)),
    description: "only of a device that is blocked because its network's quota is used up: true",
    of: ({ networkQuota }) => isUsedUp(networkQuota ?? undefined) || undefined,
  },
  ...labels,
  kind: {
    schema: Type.Optional(Type.Literal("remote")),
    description: "only of a device away from home",
    of: ({ isRemote }) => (isRemote ? ("remote" as const) : undefined),
  },
  maker: {
    schema: Type.Optional(Type.String()),
    description:
      "who made its network interface, by its MAC address; missing if that is random or seldom in homes",
    of: ({ id }) => makerOf(id),
  },
});
