import { type Static, Type } from "typebox";
import { objectOf } from "../base/object.ts";

/** A rule is a line of the firewall or more, which packets pass. */
export const MAX_RULES = 64;
export const MAX_RULE_PREFIXES = 256;
export const MAX_RULE_NAMES = 128;
export const MAX_RULE_DEVICES = 64;
/** Of all rules: the firewall's table has them all. */
export const MAX_ALL_PREFIXES = 1_024;
export const MAX_ALL_NAMES = 1_024;
/** Some hundred services of a large site, for an hour. */
export const MAX_RULE_ADDRESSES = 1_024;
/** Of all rules. Each is an element of the firewall's table, which is read and compared as a whole. */
export const MAX_ALL_ADDRESSES = 2_048;
export const MAX_NOTE_CHARACTERS = 200;

const Parts = {
  names: Type.Array(Type.String({ maxLength: 253 }), {
    maxItems: MAX_RULE_NAMES,
    description: "names such as example.com; each means all names below it, too",
  }),
  prefixes: Type.Array(Type.String(), {
    maxItems: MAX_RULE_PREFIXES,
    description: "networks in CIDR notation, or single addresses",
  }),
  devices: Type.Array(Type.String(), {
    maxItems: MAX_RULE_DEVICES,
    description: "ids of devices, as in /api/devices; if empty, the rule is for all of them",
  }),
  exit: Type.String({
    description: "name of a tunnel, `blocked`, or `direct` (outside the tunnel) if root allows it",
  }),
  note: Type.String({ maxLength: MAX_NOTE_CHARACTERS, description: "for people" }),
};

export const DestinationBody = objectOf({
  names: Type.Optional(Parts.names),
  prefixes: Type.Optional(Parts.prefixes),
  devices: Type.Optional(Parts.devices),
  exit: Parts.exit,
  note: Type.Optional(Parts.note),
});
export type DestinationBody = Static<typeof DestinationBody>;

/** What is missing stays as it is. */
export const DestinationChange = Type.Partial(DestinationBody, { additionalProperties: false });
export type DestinationChange = Static<typeof DestinationChange>;

/** A rule as it is saved. */
export const SavedDestination = objectOf({
  id: Type.String({ pattern: "^[0-9a-f]{6}$" }),
  names: Type.Optional(Parts.names),
  prefixes: Parts.prefixes,
  devices: Parts.devices,
  exit: Type.String(),
  note: Parts.note,
});

export const Destination = objectOf({
  id: Type.String({ description: "made by the gateway" }),
  names: Type.Array(Type.String()),
  prefixes: Type.Array(Type.String()),
  devices: Type.Array(Type.String(), { description: "empty if the rule is for all devices" }),
  exit: Type.String(),
  note: Type.String(),
  open: Type.Boolean({
    description: "whether the exit carries traffic now; if not, the traffic is refused",
  }),
  addresses: Type.Integer({ description: "how many addresses its names have now, as devices have asked" }),
  warning: Type.Union([Type.String(), Type.Null()], {
    description: "what to know about it, such as an exit that is down, or one outside the tunnel",
  }),
});
export type Destination = Static<typeof Destination>;

/** The answer of `/api/destinations`. */
export const DestinationList = objectOf({
  destinations: Type.Array(Destination, { description: "those for some devices come first" }),
});
export type DestinationList = Static<typeof DestinationList>;

/** The answer of `/api/destinations/explain`. */
export const Explanation = objectOf({
  device: objectOf({ id: Type.String(), name: Type.String() }),
  destination: Type.String({ description: "the name or the address that was asked for" }),
  rule: Type.Union([Destination, Type.Null()], { description: "the rule that holds; null if none does" }),
  by: Type.Union([Type.String(), Type.Null()], {
    description: "the name or the prefix of the rule that matches",
  }),
  addresses: Type.Array(Type.String(), {
    description: "for a name: those that this name of the rule has now, and that its exit leads to",
  }),
  asked_at: Type.Union([Type.String(), Type.Null()], {
    description: "for a name: when the device last asked for it, in ISO 8601; null if it never did",
  }),
  exit: Type.String({ description: "that the traffic uses" }),
  open: Type.Boolean({ description: "whether that exit carries traffic now" }),
  in_kernel: Type.Boolean({ description: "whether the kernel has the firewall as the gateway loaded it" }),
  why: Type.String({ description: "the reason, in sentences" }),
  advice: Type.Union([Type.String(), Type.Null()], {
    description: "what to do if it does not get through",
  }),
});
export type Explanation = Static<typeof Explanation>;
