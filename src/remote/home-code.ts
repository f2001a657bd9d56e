import { type Static, Type } from "typebox";
import {
  addressOf,
  familyOf,
  isLinkLocal,
  isPrivatePrefix,
  lengthOf,
  networkOf,
  type Prefix,
  parsePrefix,
  prefixOf,
} from "../base/address.ts";
import { checkerOf } from "../base/checker.ts";
import { isToldName } from "../base/name.ts";
import { objectOf } from "../base/object.ts";
import { isKey } from "../wireguard/key-text.ts";
import { refused } from "./refusals.ts";
import { isEndpointHost } from "./saved.ts";

/** A home has a few networks, in two families. */
export const MAX_HOME_PREFIXES = 16;
export const CODE_ID = "^[0-9a-f]{16}$";
const ID_BYTES = 8;
/** Of a home's networks. A larger one would take most of the addresses that networks here can have. */
const LEAST_LENGTH = { 4: 16, 6: 48 } as const;
/** Of the longest code that `formatCode` makes. */
export const MAX_CODE_CHARACTERS = 4_000;

export const CodeEndpoint = objectOf({
  host: Type.String({ maxLength: 253 }),
  port: Type.Integer({ minimum: 1, maximum: 65_535 }),
});

const Content = objectOf({
  /** The answer has that of the first code. */
  id: Type.String({ pattern: CODE_ID }),
  isAnswer: Type.Boolean(),
  key: Type.String({ maxLength: 44 }),
  /** What the gateway calls itself; empty in an answer, which is for a link that has a name. */
  name: Type.String({ maxLength: 128 }),
  endpoint: Type.Union([CodeEndpoint, Type.Null()]),
  prefixes: Type.Array(Type.String({ maxLength: 64 }), { maxItems: MAX_HOME_PREFIXES }),
  /** How the other home may leave by this one, if that lets it; null if it cannot call this one. */
  exit: Type.Union([
    objectOf({
      addresses: Type.Array(Type.String({ maxLength: 64 }), { minItems: 1, maxItems: 2 }),
      dns: Type.Array(Type.String({ maxLength: 64 }), { minItems: 1, maxItems: 2 }),
      mtu: Type.Integer({ minimum: 1_280, maximum: 65_535 }),
    }),
    Type.Null(),
  ]),
  /** Of the tunnel by which this home would leave at the other; null if it cannot call that. */
  exitKey: Type.Union([Type.String({ maxLength: 44 }), Type.Null()]),
});

/** What one home tells the other. None of it is secret: the private keys stay where they are. */
export type HomeCode = Omit<Static<typeof Content>, "prefixes"> & { prefixes: readonly Prefix[] };

/** One word, which a double click selects. */
const FORM = /^home1_([A-Za-z0-9_-]+)$/;
const contents = checkerOf(Content);

export function formatCode(code: HomeCode): string {
  const bytes = new TextEncoder().encode(JSON.stringify(code));
  return `home1_${bytes.toBase64({ alphabet: "base64url", omitPadding: true })}`;
}

/** Throws `bad_request` for what no gateway has made. */
export function parseCode(text: string): HomeCode {
  const [, encoded] = FORM.exec(text.trim()) ?? [];
  const content = encoded === undefined ? null : contents.read(decoded(encoded));
  if (content === null) throw refused("link_code_invalid");
  const { key, endpoint, exit, exitKey, isAnswer, name } = content;
  const prefixes = homePrefixesIn(content.prefixes);
  const wide = prefixes?.find(isWide);
  if (wide !== undefined)
    throw refused("link_too_wide", { prefix: wide, least: LEAST_LENGTH[familyOf(wide)] });
  const inside = homePrefixesIn([...(exit?.addresses ?? []), ...(exit?.dns ?? [])]);
  const areSingle = inside?.every((each) => prefixOf(addressOf(each)) === each) === true;
  const hasKeys = isKey(key) && (exitKey === null || isKey(exitKey));
  const isNamed = isAnswer || isToldName(name);
  if (!hasKeys || !isNamed || !isCallable(endpoint) || prefixes === null || !areSingle)
    throw refused("link_code_invalid");
  return { ...content, prefixes };
}

/** Null if one is no network of a home: a code could claim the internet. */
export function homePrefixesIn(texts: readonly string[]): Prefix[] | null {
  const prefixes = texts.flatMap((text) => parsePrefix(text) ?? []).filter(isOfHome);
  return prefixes.length === texts.length ? [...new Set(prefixes)] : null;
}

export function isOfHome(prefix: Prefix): boolean {
  const isLinkOnly = isLinkLocal(addressOf(prefix)) || prefix.startsWith("169.254.");
  return isPrivatePrefix(prefix) && !isLinkOnly && networkOf(prefix) === prefix;
}

/** Whether it is too large for a network of another home. */
export function isWide(prefix: Prefix): boolean {
  return lengthOf(prefix) < LEAST_LENGTH[familyOf(prefix)];
}

export function isCallable(endpoint: Static<typeof CodeEndpoint> | null): boolean {
  return endpoint === null || isEndpointHost(endpoint.host);
}

export function newCodeId(): string {
  return crypto.getRandomValues(new Uint8Array(ID_BYTES)).toHex();
}

function decoded(encoded: string): string | null {
  try {
    const bytes = Uint8Array.fromBase64(encoded, { alphabet: "base64url" });
    return new TextDecoder("utf-8", { fatal: true }).decode(bytes);
  } catch {
    return null;
  }
}
