import { isLocal, parseAddress } from "../base/address.ts";
import type { Level } from "../base/alert-rows.ts";
import type { HttpsRequest } from "../system/host.ts";
import type { Message } from "./message.ts";
import { refused } from "./refusals.ts";

/** Where notifications go. `name` is for logs: everything else may be secret. */
export type Target = { name: string; url: string; authorization: string | null } & (
  | { kind: "ntfy"; topic: string }
  | { kind: "gotify"; token: string }
  | { kind: "webhook" }
);

/** The public server, whose topics are also written as `ntfy://topic` (Apprise) and `https://ntfy.sh/topic`. */
const NTFY = "ntfy.sh";
/** The topics that ntfy permits (server/server.go, topicRegex). */
const TOPIC = /^[A-Za-z0-9_-]{1,64}$/;

/**
 * The target in an address. `ntfy://` and `gotify://` are HTTPS, as in shoutrrr, and so are Apprise's `ntfys://` and
 * `gotifys://`; `?scheme=http` (shoutrrr's ntfy) and `?disableTLS=yes` (its gotify) mean plain HTTP. Throws
 * `GatewayError("bad_request")`, whose message does not quote the address.
 */
export function parseTarget(text: string): Target {
  const [, scheme = "", rest = ""] = /^(ntfy|gotify|http)s?:\/\/(\S+)$/i.exec(text) ?? [];
  switch (scheme.toLowerCase()) {
    case "ntfy":
      return ntfyIn(TOPIC.test(rest.replace(/\/$/, "")) ? `${NTFY}/${rest}` : rest);
    case "gotify":
      return gotifyIn(rest);
    case "http":
      return webIn(text);
    default:
      return refuse("scheme");
  }
}

function ntfyIn(rest: string): Target {
  const url = withScheme(rest);
  const [topic, ...folders] = segmentsOf(url).toReversed();
  if (topic === undefined || !TOPIC.test(topic)) return refuse("topic");
  return {
    kind: "ntfy",
    name: `ntfy at ${url.host}`,
    url: addressOf(url, folders.toReversed()),
    topic,
    authorization: authorizationIn(url),
  };
}

function gotifyIn(rest: string): Target {
  const url = withScheme(rest);
  const [token, ...folders] = segmentsOf(url).toReversed();
  if (token === undefined) return refuse("token");
  return gotifyAt(url, folders.toReversed(), token);
}

/**
 * Gotify's and ntfy's public addresses are those of their own documentation. Every other target gets the event as JSON.
 */
function webIn(text: string): Target {
  const url = urlOf(text);
  const segments = segmentsOf(url);
  const token = url.searchParams.get("token");
  if (segments.at(-1) === "message" && token) return gotifyAt(url, segments.slice(0, -1), token);
  if (url.hostname === NTFY && segments.length === 1) return ntfyIn(text.replace(/^https?:\/\//i, ""));
  const authorization = authorizationIn(url);
  [url.username, url.password, url.hash] = ["", "", ""];
  return { kind: "webhook", name: `webhook at ${url.host}`, url: url.href, authorization };
}

function gotifyAt(url: URL, folders: readonly string[], token: string): Target {
  return {
    kind: "gotify",
    name: `gotify at ${url.host}`,
    url: addressOf(url, [...folders, "message"]),
    token: inHeader(token),
    authorization: authorizationIn(url),
  };
}

/** The request that delivers a message to a target. */
export function requestFor(target: Target, message: Message): HttpsRequest {
  const headers = {
    "Content-Type": "application/json",
    "User-Agent": "Portcullis",
    ...(target.authorization !== null && { Authorization: target.authorization }),
  };
  const request = (body: object, more = {}): HttpsRequest => ({
    url: target.url,
    method: "POST",
    headers: { ...headers, ...more },
    body: JSON.stringify(body),
    withinMs: ANSWERS_WITHIN_MS,
    onlyStatus: true,
  });
  const { title, text, level, at, events } = message;
  switch (target.kind) {
    // https://docs.ntfy.sh/publish/#publish-as-json
    case "ntfy":
      return request({ topic: target.topic, title, message: text, priority: NTFY_PRIORITIES[level] });
    // https://gotify.net/api-docs, createMessage
    case "gotify":
      return request(
        { title, message: text, priority: GOTIFY_PRIORITIES[level] },
        { "X-Gotify-Key": target.token },
      );
    case "webhook":
      return request({ title, message: text, level, at, events });
  }
}

const ANSWERS_WITHIN_MS = 15_000;
/** 1 to 5; 3 is the default, 2 makes no sound. */
const NTFY_PRIORITIES: Record<Level, number> = { quiet: 2, normal: 3, urgent: 4 };
/** 0 to 10; the app makes no sound below 4. */
const GOTIFY_PRIORITIES: Record<Level, number> = { quiet: 2, normal: 5, urgent: 8 };

function withScheme(rest: string): URL {
  const url = urlOf(`https://${rest}`);
  const wanted = [...url.searchParams];
  const isPlain = ([name, value]: [string, string]) =>
    (name === "scheme" && value === "http") || (name === "disableTLS" && value === "yes");
  const odd = wanted.find((each) => !isPlain(each) && !(each[0] === "scheme" && each[1] === "https"));
  if (odd !== undefined) return refuse("query");
  return wanted.some(isPlain) ? urlOf(`http://${rest}`) : url;
}

/** Plain HTTP is only sent to the LAN. Names of the LAN cannot be looked up. */
function urlOf(text: string): URL {
  const url = URL.parse(text) ?? refuse("address");
  const isHere = isLocal(parseAddress(url.hostname.replace(/^\[|\]$/g, "")));
  if (url.protocol === "http:" && !isHere) return refuse("plain");
  return url;
}

function segmentsOf({ pathname }: URL): string[] {
  return pathname
    .split("/")
    .filter((segment) => segment !== "")
    .map(decoded);
}

function addressOf({ protocol, host }: URL, segments: readonly string[]): string {
  return `${protocol}//${host}/${segments.map(encodeURIComponent).join("/")}`;
}

/** A password alone, or a user name that begins as ntfy's tokens do, is a token. */
function authorizationIn({ username, password }: URL): string | null {
  const [user, secret] = [decoded(username), decoded(password)];
  if (user === "" && secret === "") return null;
  if (user === "" || (secret === "" && user.startsWith("tk_"))) return inHeader(`Bearer ${user}${secret}`);
  return `Basic ${Buffer.from(`${user}:${secret}`).toString("base64")}`;
}

/** Bytes that would end the header are refused here, where no message quotes them. */
function inHeader(text: string): string {
  return /^[\x20-\x7e]+$/.test(text) ? text : refuse("characters");
}

function decoded(text: string): string {
  try {
    return decodeURIComponent(text);
  } catch {
    return refuse("encoding");
  }
}

type Fault = "scheme" | "topic" | "token" | "query" | "plain" | "characters" | "encoding" | "address";

function refuse(fault: Fault): never {
  throw refused("address_malformed", { fault });
}
