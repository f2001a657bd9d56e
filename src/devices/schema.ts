import { type Static, type TNull, type TOptional, type TSchema, type TUnion, Type } from "typebox";
import { MAX_NAME_CHARACTERS } from "../shared/bounds.ts";

const Megabits = Type.Union([Type.Number({ minimum: 0.1, maximum: 10_000 }), Type.Null()]);

/** How fast a device may be. */
export const Rate = Type.Object(
  {
    down: { ...Megabits, description: "what it may receive, in Mbit/s; null for no limit" },
    up: { ...Megabits, description: "what it may send, in Mbit/s; null for no limit" },
  },
  { additionalProperties: false },
);
export type Rate = Static<typeof Rate>;

const AtEnd = Type.Union([Type.Literal("blocked"), Type.Literal("told"), Rate], {
  description: "what the end of it does: blocked, a rate that then holds, or told and nothing else",
});

const QUOTA = {
  megabytes: Type.Integer({
    minimum: 1,
    maximum: 10_000_000,
    description: "sent and received together, in millions of bytes",
  }),
  every: Type.Union([Type.Literal("day"), Type.Literal("month")]),
};

/** How much a device may send and receive together. */
export const Quota = Type.Object({ ...QUOTA, at_end: AtEnd }, { additionalProperties: false });
export type Quota = Static<typeof Quota>;

/** The same as a client gives it. Without `at_end` the device is blocked. */
export const GivenQuota = Type.Object(
  { ...QUOTA, at_end: Type.Optional(AtEnd) },
  { additionalProperties: false },
);
export type GivenQuota = Static<typeof GivenQuota>;

/** A quota with what was used of it. */
export const UsedQuota = Type.Object(
  {
    ...Quota.properties,
    used_bytes: Type.Integer({ description: "in the present day or month, as read last" }),
  },
  { additionalProperties: false },
);

export type UsedQuota = Static<typeof UsedQuota>;

const Icon = Type.Union(
  [
    Type.Literal("phone"),
    Type.Literal("laptop"),
    Type.Literal("tv"),
    Type.Literal("camera"),
    Type.Literal("console"),
    Type.Literal("printer"),
    Type.Literal("speaker"),
    Type.Literal("other"),
  ],
  { description: "the kind of device" },
);

/** A person or a room: "Ana", "Living room". */
const Group = Type.String({
  minLength: 1,
  maxLength: 2 * MAX_NAME_CHARACTERS,
  description: "the person or the room that it belongs to, in 1 to 64 characters",
});

/**
 * What else a person can say of a single device, in a few words or yes. It opens and closes nothing. A row here is kept, in
 * answers, changes and backups; the command line and the page say how it is given and shown.
 */
export const LABELS = { icon: Icon, group: Group };
export type LabelKey = keyof typeof LABELS;
export const LABEL_KEYS = Object.keys(LABELS) as LabelKey[];
export type Labels = { [Key in LabelKey]: Static<(typeof LABELS)[Key]> };

const shownLabels = ofLabels((label) => Type.Optional(label)) as {
  [Key in LabelKey]: TOptional<(typeof LABELS)[Key]>;
};
const givenLabels = ofLabels((label, description) =>
  Type.Optional(Type.Union([label, Type.Null()], { description: `${description}; null for none` })),
) as { [Key in LabelKey]: TOptional<TUnion<[(typeof LABELS)[Key], TNull]>> };

function ofLabels(schemaOf: (label: TSchema, description: unknown) => TSchema): Record<string, TSchema> {
  return Object.fromEntries(
    Object.entries(LABELS).map(([key, label]) => [
      key,
      schemaOf(label, "description" in label ? label.description : ""),
    ]),
  );
}

/** A device of the LAN. */
export const Device = Type.Object(
  {
    id: Type.String({
      description:
        "MAC address in lower case, or a prefix: behind another router of the LAN, or a device on the road",
    }),
    name: Type.String({ description: "given by a person, else told by the device; empty if neither" }),
    named: Type.Boolean({ description: "whether a person gave the name" }),
    addresses: Type.Array(Type.String()),
    interface: Type.Union([Type.String(), Type.Null()], { description: "where it was seen last" }),
    exit: Type.String({ description: "name of a tunnel, blocked, or direct" }),
    exit_order: Type.Optional(
      Type.Array(Type.String(), {
        description:
          "only of a device with several exits: in their order; exit is the first of them that is up, or the one where the device stays until then",
      }),
    ),
    assigned: Type.Boolean({
      description: "whether a person or a schedule chose the exit; else it is the default exit",
    }),
    online: Type.Boolean({ description: "whether it was heard in the last five minutes" }),
    seen_at: Type.Union([Type.String(), Type.Null()], {
      description: "ISO 8601; null if it was not seen since the service started",
    }),
    rx_bytes: Type.Integer({ description: "what the gateway has forwarded to it" }),
    tx_bytes: Type.Integer({ description: "what the gateway has forwarded from it" }),
    fixed_address: Type.Union([Type.String(), Type.Null()], {
      description: "the IPv4 address that a person chose, and the gateway's DHCP server gives to it",
    }),
    rate: Type.Optional({ ...Rate, description: "only of a device with a limit" }),
    quota: Type.Optional({ ...UsedQuota, description: "only of a device with a quota" }),
    ...shownLabels,
    kind: Type.Optional(
      Type.Literal("remote", { description: "only of a device that comes in from the road" }),
    ),
  },
  { additionalProperties: false },
);
export type Device = Static<typeof Device>;

/** The answer of `/api/devices`. */
export const DeviceList = Type.Object(
  {
    devices: Type.Array(Device),
    default_exit: Type.String({ description: "exit of the devices that are not assigned" }),
    exits: Type.Array(Type.String(), { description: "the exits that a device can have now" }),
    direct_allowed: Type.Boolean({
      description: "whether devices may leave outside the tunnel (portcullis direct on)",
    }),
    shared_rate: Type.Optional({
      ...Rate,
      description: "what all devices without a rate of their own have together; missing without a limit",
    }),
    shared_quota: Type.Optional({
      ...UsedQuota,
      description: "what all devices without a quota of their own have together; missing without one",
    }),
  },
  { additionalProperties: false },
);
export type DeviceList = Static<typeof DeviceList>;

/** The answer of `/api/devices/self`. */
export const OwnDevice = Type.Object(
  {
    address: Type.String({ description: "from which the request came" }),
    device: Type.Union([Device, Type.Null()], {
      description:
        "the device that has this address; null if the gateway does not know one, as on the gateway itself",
    }),
  },
  { additionalProperties: false },
);
export type OwnDevice = Static<typeof OwnDevice>;

/** The values that a person may give a device. */
export const DeviceChange = Type.Object(
  {
    name: Type.Optional(Type.String({ minLength: 1, description: "1 to 64 characters" })),
    exit: Type.Optional(
      Type.Union([Type.String({ minLength: 1 }), Type.Array(Type.String()), Type.Null()], {
        description:
          "name of a tunnel, blocked, or direct; or several tunnels in order, of which the first that is up is taken, and after them blocked, if you like; null for the default exit again",
      }),
    ),
    address: Type.Optional(
      Type.Union([Type.String({ minLength: 1 }), Type.Null()], {
        description:
          "the IPv4 address that the gateway's DHCP server gives to it from its next lease on; null for any again",
      }),
    ),
    rate: Type.Optional(
      Type.Union([Rate, Type.Null()], { description: "how fast it may be; null for no limit" }),
    ),
    quota: Type.Optional(
      Type.Union([GivenQuota, Type.Null()], {
        description: "how much it may send and receive, and what happens then; null for any amount",
      }),
    ),
    ...givenLabels,
  },
  { additionalProperties: false },
);
export type DeviceChange = Static<typeof DeviceChange>;

/** PUT /api/default-exit. */
export const DefaultExit = Type.Object(
  { exit: Type.String({ minLength: 1, description: "name of a tunnel, or blocked" }) },
  { additionalProperties: false },
);
export type DefaultExit = Static<typeof DefaultExit>;

/** PUT /api/shared-rate. */
export const SharedRate = Type.Object(
  { rate: Type.Union([Rate, Type.Null()], { description: "null for no limit" }) },
  { additionalProperties: false },
);
export type SharedRate = Static<typeof SharedRate>;

/** PUT /api/shared-quota. */
export const SharedQuota = Type.Object(
  { quota: Type.Union([GivenQuota, Type.Null()], { description: "null for any amount" }) },
  { additionalProperties: false },
);
export type SharedQuota = Static<typeof SharedQuota>;

/** Payload of a `device_update`. */
export const DeviceUpdate = Type.Object(
  { id: Type.String(), name: Type.String(), exit: Type.String(), online: Type.Boolean() },
  { additionalProperties: false },
);
export type DeviceUpdate = Static<typeof DeviceUpdate>;
