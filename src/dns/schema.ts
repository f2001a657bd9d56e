import { type Static, Type } from "typebox";
import { enumOf } from "../base/enum.ts";
import { objectOf } from "../base/object.ts";
import { reasonFields } from "../base/reason.ts";
import { MAX_EXCEPTIONS, MAX_LISTS, MAX_PAUSE_MINUTES } from "../shared/bounds.ts";

const Devices = Type.Array(Type.String(), {
  maxItems: 64,
  uniqueItems: true,
  description: "the devices that it is for, by id as in /api/devices; all if empty or missing",
});

/** The lists of names that are blocked, and names that are not blocked whatever a list says. */
export const DnsListsBody = objectOf({
  lists: Type.Array(
    objectOf({
      url: Type.String({ maxLength: 500, description: "https; fetched through the tunnel" }),
      devices: Type.Optional(Devices),
      on: Type.Optional(Type.Boolean({ description: "false to turn it off for now (default: true)" })),
    }),
    { maxItems: MAX_LISTS, description: "replaces the ones before" },
  ),
  exceptions: Type.Optional(
    Type.Array(Type.String({ maxLength: 253 }), {
      maxItems: MAX_EXCEPTIONS,
      description: "names that stay open, with all names below them",
    }),
  ),
  private_names: Type.Optional(
    Type.Array(Type.String({ maxLength: 253 }), {
      maxItems: MAX_EXCEPTIONS,
      description:
        "names that may have addresses of the home, with all names below them (missing: as before); of all others, such addresses are left out",
    }),
  ),
  block_doh: Type.Optional(
    Type.Boolean({
      description:
        "whether the names of well-known resolvers over HTTPS are blocked for all devices (missing: as before)",
    }),
  ),
});
export type DnsListsBody = Static<typeof DnsListsBody>;

/** The answer of `/api/dns/lists`. */
export const DnsLists = objectOf({
  lists: Type.Array(
    objectOf({
      url: Type.String(),
      devices: Type.Array(Type.String()),
      on: Type.Boolean({ description: "whether it blocks; one that does not is not fetched either" }),
      names: Type.Integer({ description: "how many names it blocks now; 0 before it was first fetched" }),
      skipped: Type.Integer({
        description: "how many of its lines were not understood, and block nothing; comments do not count",
      }),
      fetched_at: Type.Union([Type.String(), Type.Null()], {
        description: "when its address last gave or confirmed it, in ISO 8601",
      }),
      ...reasonFields("why it could not be fetched the last time; what was fetched before stays"),
    }),
  ),
  exceptions: Type.Array(Type.String()),
  private_names: Type.Array(Type.String(), {
    description: "names that may have addresses of the home, with all names below them",
  }),
  block_doh: Type.Boolean({
    description: "whether the names of well-known resolvers over HTTPS are blocked",
  }),
});
export type DnsLists = Static<typeof DnsLists>;

export const DnsPauseBody = objectOf({
  minutes: Type.Optional(
    Type.Integer({
      minimum: 0,
      maximum: MAX_PAUSE_MINUTES,
      description: "for how long no list blocks; 0 ends the pause (default: 5)",
    }),
  ),
});

const count = (description: string) => Type.Integer({ description });

/** The answer of `/api/dns`. */
export const DnsStatus = objectOf({
  state: enumOf(["on", "off", "elsewhere", "failed"], {
    description:
      "on: the gateway answers the LAN's queries; off: nothing needs that, so the tunnels' resolvers do; elsewhere: another resolver of this machine does, so lists and names of rules have no effect; failed: it cannot listen, and queries are refused",
  }),
  reason: Type.Union([Type.String(), Type.Null()], { description: "why it failed" }),
  asked: count("queries of the LAN since the start"),
  local: count("of these, answered with the names and addresses of the home's own devices"),
  cached: count("of these, answered without asking a resolver"),
  blocked: count("of these, answered with: no such name"),
  refused: count("of these, refused because their exit is down or blocked"),
  failed: count("of these, answered with an error, because no resolver answered"),
  devices: Type.Array(
    objectOf({
      id: Type.String({ description: "as in /api/devices" }),
      name: Type.String({ description: "as in /api/devices; empty if it has none" }),
      asked: count("queries of the device"),
      blocked: count("of these, answered with: no such name"),
    }),
    { description: "the devices that have asked, those that asked most first; at most 256" },
  ),
  blocked_names: count("the names of all lists"),
  paused_until: Type.Union([Type.String(), Type.Null()], { description: "until when no list blocks" }),
  logged_until: Type.Union([Type.String(), Type.Null()], {
    description: "until when queries are logged; null if they are not",
  }),
});
export type DnsStatus = Static<typeof DnsStatus>;

const LoggedFields = {
  at: Type.String({ description: "in ISO 8601" }),
  device: Type.Union([Type.String(), Type.Null()], {
    description: "its id, as in /api/devices; null if unknown",
  }),
  name: Type.String({ description: "what was asked for, in lower case" }),
  type: Type.String({ description: "the type of record, such as A or AAAA" }),
  exit: Type.Union([Type.String(), Type.Null()], {
    description: "the exit of the query; null if the gateway answered by itself",
  }),
  answer: enumOf(["asked", "cached", "local", "blocked", "refused", "failed"], {
    description:
      "asked: from the exit's resolver; cached: from memory; local: by the gateway itself; blocked: no such name, by a list or a rule; refused: its exit is down or blocked; failed: no resolver answered",
  }),
};
const QueryLogged = objectOf(LoggedFields);
export type QueryLogged = Static<typeof QueryLogged>;

/** The answer of `/api/dns/log`. */
export const QueryLogShown = objectOf({
  until: Type.Union([Type.String(), Type.Null()], {
    description: "when it ends and is forgotten; null if it is off",
  }),
  queries: Type.Array(
    objectOf({ ...LoggedFields, device_name: Type.String({ description: "empty if it has none" }) }),
    { description: "the oldest first; at most the last 2,000" },
  ),
  dropped: count("how many earlier queries were dropped for lack of room"),
});
export type QueryLogShown = Static<typeof QueryLogShown>;
