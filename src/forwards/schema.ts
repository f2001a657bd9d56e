import { type Static, type TLiteral, Type } from "typebox";
import { enumOf } from "../base/enum.ts";
import { objectOf } from "../base/object.ts";
import { OPENER_KINDS, type OpenerKind } from "./opener.ts";

export const ForwardProtocol = enumOf(["tcp", "udp"]);
export type ForwardProtocol = Static<typeof ForwardProtocol>;
/** 0 means "any" in protocols, and is no port. */
export const Port = Type.Integer({ minimum: 1, maximum: 65_535 });

/** The type of a union needs a tuple. */
const Openers = OPENER_KINDS.map((kind) => Type.Literal(kind)) as [TLiteral<OpenerKind>];

/** A port that is, or should be, reachable from the internet, and the device that it leads to. */
export const Forward = objectOf({
  device: Type.String({ description: "MAC address in lower case" }),
  name: Type.String({ description: "the device's name; empty without one" }),
  protocol: ForwardProtocol,
  port: Type.Integer({ description: "the port on the device" }),
  external: Type.Union([Type.Integer(), Type.Null()], {
    description: "the port that the provider opened; null while none is open",
  }),
  fixed: Type.Union([Type.Integer(), Type.Null()], {
    description: "the external port that a person gave, which is set on the provider's site; null if none",
  }),
  address: Type.Union([Type.String(), Type.Null()], {
    description: "the provider's public address, if it says so",
  }),
  tunnel: Type.Union([Type.String(), Type.Null()], {
    description: "the tunnel that is the device's exit; null if it has none",
  }),
  opener: Type.Union([...Openers, Type.Null()], {
    description: "how the port is opened; null if nothing can open it",
  }),
  asked_by: enumOf(["operator", "device"], {
    description: "who asked for it: a person, or the device itself by NAT-PMP",
  }),
  state: enumOf(["open", "opening", "closed"]),
  error: Type.Union([Type.String(), Type.Null()], {
    description: "why it is not open, and what to do",
  }),
  expires_at: Type.Union([Type.String(), Type.Null()], {
    description: "ISO 8601: when the device's request ends unless it asks again; null for a person's",
  }),
});
export type Forward = Static<typeof Forward>;

/** The answer of `/api/forwards`. */
export const ForwardList = objectOf({ forwards: Type.Array(Forward) });
export type ForwardList = Static<typeof ForwardList>;

/** Body of PUT /api/forwards/{device}/{protocol}/{port}. */
export const ForwardChange = objectOf({
  external: Type.Optional(
    Type.Union([Port, Type.Null()], {
      description: "a port that is set on the provider's site; without it the provider is asked for one",
    }),
  ),
});
export type ForwardChange = Static<typeof ForwardChange>;

/** What identifies a forward; the payload of a `forward_removed`. */
export const ForwardId = objectOf({ device: Type.String(), protocol: ForwardProtocol, port: Type.Integer() });
