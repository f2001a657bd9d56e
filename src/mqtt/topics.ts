import { createHash } from "node:crypto";

/** Home Assistant's discovery prefix, and the topic on which it says that it has started; both are its defaults. */
const DISCOVERY = "homeassistant";
export const STATUS_TOPIC = `${DISCOVERY}/status`;

/**
 * What Home Assistant shows as a device of its own: `gateway`, `tunnel/<name>`, `device/<id>`,
 * `network/<interface>`, `list/<hash>` or `link/<hash>`. The characters are those that a discovery topic may have (`[a-zA-Z0-9_-]`), and the slash.
 */
export type Key = string;
export const GATEWAY: Key = "gateway";

export function tunnelKey(name: string): Key {
  return `tunnel/${name}`;
}

/** For a MAC address, or a prefix behind another router. */
export function deviceKey(id: string): Key {
  return `device/${id.replaceAll(/[^a-z0-9]/g, "-")}`;
}

/** For a network of the LAN, by its interface. Each has its own, so that no command reaches another one. */
export function networkKey(link: string): Key {
  return `network/${link.replaceAll("-", "--").replaceAll(".", "-_")}`;
}

/** For a list of blocked names; an address has characters that a topic cannot have. */
export function listKey(url: string): Key {
  return `list/${hashOf(url)}`;
}

/** For a link to another home; the same of a name. */
export function linkKey(name: string): Key {
  return `link/${hashOf(name)}`;
}

function hashOf(text: string): string {
  return createHash("sha256").update(text).digest("hex").slice(0, 12);
}

/** The gateway's name in topics and unique ids. */
export function idOf(hostname: string): string {
  return hostname.toLowerCase().replaceAll(/[^a-z0-9-]/g, "-") || "gateway";
}

/** The changing facts about a thing, each in a topic of its own. */
export const STATES = ["state", "traffic", "alert", "dns", "quota", "uplink"] as const;
export type StateName = (typeof STATES)[number];

export function availabilityTopic(id: string): string {
  return `portcullis/${id}/availability`;
}

export function stateTopic(id: string, key: Key, name: StateName): string {
  return `portcullis/${id}/${key}/${name}`;
}

export function commandTopic(id: string, key: Key, command: string): string {
  return `portcullis/${id}/${key}/${command}/set`;
}

/** Filters that match all command topics. */
export function commandTopics(id: string): string[] {
  return [GATEWAY, tunnelKey("+"), "device/+", "network/+", "list/+"].map((key) =>
    commandTopic(id, key, "+"),
  );
}

/** The thing and the command of a topic; null if it is not a command topic. */
export function commandIn(id: string, topic: string): { key: Key; command: string } | null {
  const prefix = `portcullis/${id}/`;
  const [, key, command] =
    (topic.startsWith(prefix) && /^(.+)\/([^/]+)\/set$/.exec(topic.slice(prefix.length))) || [];
  return key === undefined || command === undefined ? null : { key, command };
}

/** Unique on the broker. */
export function uniqueId(id: string, key: Key): string {
  return `portcullis_${id}_${key.replace("/", "_")}`;
}

export function discoveryTopic(id: string, key: Key): string {
  return `${DISCOVERY}/device/${uniqueId(id, key)}/config`;
}

/** All retained topics of a thing. */
export function topicsOf(id: string, key: Key): string[] {
  return [discoveryTopic(id, key), ...STATES.map((name) => stateTopic(id, key, name))];
}
