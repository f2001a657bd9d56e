import { type Static, type TNull, type TOptional, type TSchema, type TUnion, Type } from "typebox";
import { schemaOf } from "../base/fact.ts";
import { objectOf } from "../base/object.ts";
import { DEVICE_FACTS } from "./facts.ts";
import { GivenQuota, LABELS, type LabelKey, Rate, UsedQuota } from "./values.ts";

/** A device of the LAN. */
export const Device = schemaOf(DEVICE_FACTS);
export type Device = Static<typeof Device>;

/** The answer of `/api/devices`. */
export const DeviceList = objectOf({
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
});
export type DeviceList = Static<typeof DeviceList>;

/** The answer of `/api/devices/self`. */
export const OwnDevice = objectOf({
  address: Type.String({ description: "from which the request came" }),
  device: Type.Union([Device, Type.Null()], {
    description:
      "the device that has this address; null if the gateway does not know one, as on the gateway itself",
  }),
});
export type OwnDevice = Static<typeof OwnDevice>;

/** Each as it is shown, or null for none. */
const givenLabels = Object.fromEntries(
  Object.entries<TSchema & { description?: string }>(LABELS).map(([key, label]) => {
    const description = `${label.description}; null for none`;
    return [key, Type.Optional(Type.Union([label, Type.Null()], { description }))];
  }),
) as { [Key in LabelKey]: TOptional<TUnion<[(typeof LABELS)[Key], TNull]>> };

/** The values that a person may give a device. */
export const DeviceChange = objectOf({
  name: Type.Optional(Type.String({ minLength: 1, description: "1 to 64 characters" })),
  exit: Type.Optional(
    Type.Union([Type.String({ minLength: 1 }), Type.Array(Type.String()), Type.Null()], {
      description:
        "name of a tunnel, blocked, or direct; or several tunnels in order, of which the first that is up is used, optionally with blocked at the end; null for the default exit",
    }),
  ),
  address: Type.Optional(
    Type.Union([Type.String({ minLength: 1 }), Type.Null()], {
      description:
        "the IPv4 address that the gateway's DHCP server gives it from its next lease on; null for any",
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
});
export type DeviceChange = Static<typeof DeviceChange>;

/** PUT /api/default-exit. */
export const DefaultExit = objectOf({
  exit: Type.String({ minLength: 1, description: "name of a tunnel, or blocked" }),
});
export type DefaultExit = Static<typeof DefaultExit>;

/** PUT /api/shared-rate. */
export const SharedRate = objectOf({
  rate: Type.Union([Rate, Type.Null()], { description: "null for no limit" }),
});
export type SharedRate = Static<typeof SharedRate>;

/** PUT /api/shared-quota. */
export const SharedQuota = objectOf({
  quota: Type.Union([GivenQuota, Type.Null()], { description: "null for any amount" }),
});
export type SharedQuota = Static<typeof SharedQuota>;

/** Payload of a `device_update`. */
export const DeviceUpdate = objectOf({
  id: Type.String(),
  name: Type.String(),
  exit: Type.String(),
  online: Type.Boolean(),
});
export type DeviceUpdate = Static<typeof DeviceUpdate>;
