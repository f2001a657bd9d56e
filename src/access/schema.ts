import { type Static, Type } from "typebox";
import { enumOf } from "../base/enum.ts";
import { objectOf } from "../base/object.ts";
import { MAX_PORTS } from "../network/ports.ts";

const NAME = Type.String({ description: "as the operator has named it", examples: ["phone"] });
const READ_ONLY = Type.Boolean({ description: "whether the token may only read" });
const OWNER = Type.Boolean({
  description: "whether the token may do all that root may on the gateway; it works over HTTPS only",
});

export const Auth = enumOf(["off", "write", "on"], {
  description: "what needs a token: nothing, changes, or everything but `/health`",
});

/** GET /api/access. */
export const Access = objectOf({
  auth: Auth,
  token: Type.Union([objectOf({ name: NAME, read_only: READ_ONLY, owner: OWNER }), Type.Null()], {
    description: "the token of this request; null if it has none, or if none is needed",
  }),
});
export type Access = Static<typeof Access>;

const KEPT = {
  name: NAME,
  read_only: READ_ONLY,
  created_at: Type.String({ description: "ISO 8601" }),
};
const SHOWN = { ...KEPT, owner: OWNER };

/** A token as the gateway keeps it. */
export const StoredToken = objectOf({
  ...KEPT,
  /** SHA-256 of the token, in hexadecimal. */
  hash: Type.String({ pattern: "^[0-9a-f]{64}$" }),
  /** Of an owner, and of nobody else: the hash of the passphrase, with its parameters. */
  passphrase: Type.Optional(Type.String({ maxLength: 256 })),
});
export type StoredToken = Static<typeof StoredToken>;

/** The operator's view of a token. */
export const ShownToken = objectOf(SHOWN);
export type ShownToken = Static<typeof ShownToken>;

/** GET /api/tokens. */
export const TokenList = objectOf({ auth: Auth, tokens: Type.Array(ShownToken) });
export type TokenList = Static<typeof TokenList>;

/** Body of POST /api/tokens. */
export const TokenRequest = objectOf({
  name: Type.String({ description: "the client's name, such as phone" }),
  read_only: Type.Optional(READ_ONLY),
});

/** A new owner. */
const OWNER_REQUEST = {
  name: Type.String({ description: "of this browser, such as laptop" }),
  passphrase: Type.String({
    maxLength: 1_024,
    description: "at least 8 characters; asked for again by what opens the kill switch",
  }),
};

/** Body of POST /api/owner/pair. */
export const PairingRequest = objectOf({
  code: Type.String({
    maxLength: 64,
    description: "as `portcullis pair` prints it; valid once, for ten minutes",
  }),
  ...OWNER_REQUEST,
});

/** Body of POST /api/owner/claim. */
export const ClaimRequest = objectOf(OWNER_REQUEST);

/** GET /api/owner/claim. */
export const ClaimStatus = objectOf({
  claim: enumOf(["open", "over", "none"], {
    description:
      "`open` for the first browser, in the first minutes of a flashed image; `over` once they or the claim are past; `none` for a gateway that was set up in a terminal",
  }),
});
export type ClaimStatus = Static<typeof ClaimStatus>;
export type ClaimState = ClaimStatus["claim"];

/** A token that was just made. Its text is shown only this once. */
export const NewToken = objectOf({
  ...SHOWN,
  token: Type.String({ description: "shown only now; the gateway keeps its SHA-256" }),
});
export type NewToken = Static<typeof NewToken>;

const PORT = Type.String({ pattern: "^eth[0-9]{1,2}$", examples: ["eth0"] });
const LAN = "the ports of the LAN; with one cable, the uplink alone";

/** Where the network ports of a flashed gateway lead. */
export const ShownRoles = objectOf({
  uplink: Type.Union([Type.String(), Type.Null()], {
    description: "the port of the router; null if the default route decides",
  }),
  lan: Type.Array(Type.String({ examples: ["eth1"] }), { description: LAN }),
  dhcp: Type.Boolean({ description: "whether devices get their addresses from the gateway" }),
  pages: Type.Array(Type.String({ description: "an address that begins with https" }), {
    description: "where the page is; without an address if that comes from a router and is not known yet",
  }),
});
export type ShownRoles = Static<typeof ShownRoles>;

/** GET /api/owner/ports. */
export const ShownPorts = objectOf({
  ports: Type.Array(
    objectOf({ name: Type.String(), plugged: Type.Boolean({ description: "whether it has a link" }) }),
    { maxItems: MAX_PORTS, description: "all network ports; none if the gateway was set up in a terminal" },
  ),
  ...ShownRoles.properties,
  changing: Type.Boolean({ description: "whether their roles are being changed" }),
  failed: Type.Union([Type.String(), Type.Null()], {
    description: "why the last change went back; null if it did not",
  }),
});
export type ShownPorts = Static<typeof ShownPorts>;

/** PUT /api/owner/ports. */
export const PortsRequest = objectOf({
  uplink: { ...PORT, description: "the port of the router" },
  lan: Type.Array(PORT, { minItems: 1, maxItems: MAX_PORTS, description: LAN }),
  preview: Type.Optional(Type.Boolean({ description: "true only says what would change" })),
});
export type PortsRequest = Static<typeof PortsRequest>;

export const PortsChange = objectOf({
  before: ShownRoles,
  after: ShownRoles,
  cut: Type.Boolean({
    description: "whether devices lose their addresses and the page until they ask for an address again",
  }),
});
export type PortsChange = Static<typeof PortsChange>;
