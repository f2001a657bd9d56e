import { type Args, type ArgsOf, type ArgsOfTexts, english } from "./message.ts";

/** `quiet` makes no sound; `urgent` means that someone has to act. */
export const LEVELS = ["quiet", "normal", "urgent"] as const;
export type Level = (typeof LEVELS)[number];

/** What an alert tells: that something is wrong, that this is over, or that somebody has changed something. */
export type AlertKind = "fault" | "over" | "news";

interface Row {
  /** Alerts of one cause are reported together. */
  cause: string;
  level: Level;
  kind: AlertKind;
  /** When it is raised, as the docs say it. */
  title: string;
  /** The cause that it may follow from: a message about both lists it under that. */
  after?: string;
}

/** One sentence, or several of which `what` says which it is. */
type Sentences = { text: string } | { texts: Readonly<Record<string, string>> };

/** Ends "has used its quota of 500 MB a day". */
const UNTIL =
  "{every, select, day {until midnight} other {until the end of the month}}{scheduled, select, yes { or the end of the schedule} other {}}";
/** `ways` says which of the two is given. */
export const RATE =
  "{ways, select, both {{down} Mbit/s each way} down {{down} Mbit/s down} up {{up} Mbit/s up} other {{down} Mbit/s down, {up} Mbit/s up}}";
const QUOTA = "quota of {megabytes} MB {every, select, day {a day} other {a month}}";
export const AND_MORE = "{more, plural, =0 {} other { and {more} more}}";

const SCHEDULE = 'The schedule "{name}" failed:';

/** All alerts, by code: what they say on each surface, and in the docs. */
export const ALERTS = {
  firewall_altered: {
    ...{ cause: "firewall", level: "normal", kind: "fault", after: "contest" },
    title: "another program has changed or removed the kill switch's firewall; it is repaired at once",
    texts: {
      altered: "Another program has altered the firewall's table.",
      removed: "Another program has removed the firewall's table.",
    },
  },
  firewall_restored: {
    ...{ cause: "firewall", level: "quiet", kind: "over" },
    title: "the firewall is as it was",
    text: "The firewall has been restored.",
  },
  routing_altered: {
    ...{ cause: "routing", level: "normal", kind: "fault", after: "contest" },
    title: "another program has changed the kill switch's routing; it is repaired at once",
    texts: {
      rules: "Another program has changed the routing rules {rules}.",
      tunnel:
        "Another program has removed {parts} of the {tunnel, select, main {main tunnel} other {tunnel {tunnel}}}.",
      route: "Another program has put a route into a routing table of the gateway: {route}.",
    },
  },
  routing_restored: {
    ...{ cause: "routing", level: "quiet", kind: "over" },
    title: "routing is as it was",
    text: "The routing has been restored.",
  },
  foreign_rule: {
    ...{ cause: "foreign rule", level: "urgent", kind: "fault" },
    title: "another program's routing rule comes before the gateway's: only the firewall blocks",
    texts: {
      rule: "A routing rule of another program comes before the kill switch's, so only the firewall blocks: {rules}; to remove it: {remedy}",
      wg_quick:
        "A routing rule of another program comes before the kill switch's, so only the firewall blocks: {rules}; to remove it: sudo wg-quick down, with the name of its interface",
    },
  },
  foreign_rule_gone: {
    ...{ cause: "foreign rule", level: "quiet", kind: "over" },
    title: "that rule is gone",
    text: "No routing rule of another program comes before the kill switch's now.",
  },
  lan_route: {
    ...{ cause: "LAN route", level: "urgent", kind: "fault" },
    title: "a route of the machine leads to a part of the LAN over another interface; it is not used",
    text: `A route leads to a part of the LAN by another interface, and is not used: {route}${AND_MORE}. A DHCP server or a router on that network has set it, by mistake or to listen (CVE-2024-3661); if that network has the LAN's own addresses, give the LAN others.`,
  },
  lan_route_gone: {
    ...{ cause: "LAN route", level: "quiet", kind: "over" },
    title: "that route is gone",
    text: "No route leads to a part of the LAN by another interface now.",
  },
  forwarding_dropped: {
    ...{ cause: "forwarding", level: "urgent", kind: "fault" },
    title: "another firewall, or a setting of the bridge, drops what the LAN sends",
    texts: {
      tunnels:
        "Another firewall drops what the LAN sends into the tunnel ({chains}); to let it through: {remedy}",
      uplink:
        "Another firewall drops what direct devices send to the uplink ({chains}); to let it through: {remedy}",
      udp: "Another firewall drops what the LAN sends into the tunnel over UDP ({chains}); to let it through: {remedy}",
      several: "Another firewall drops {drops} ({chains}); to let it through: {remedy}",
      bridge:
        "Devices on different ports of the bridge {bridges} cannot reach each other, because br_netfilter passes what they send through the firewall; to end that: {remedy}",
      both: "Another firewall drops {drops} ({chains}); to let it through: {remedy}; Devices on different ports of the bridge {bridges} cannot reach each other, because br_netfilter passes what they send through the firewall; to end that: {bridge_remedy}",
    },
  },
  forwarding_restored: {
    ...{ cause: "forwarding", level: "quiet", kind: "over" },
    title: "nothing drops what the LAN sends now",
    text: "No other firewall drops what the LAN sends now.",
  },
  other_router: {
    ...{ cause: "other router", level: "urgent", kind: "fault" },
    title: "another router or DHCP server of the LAN leads devices past the tunnel",
    text: "Devices might leave outside the tunnel: {reason}.",
  },
  other_router_gone: {
    ...{ cause: "other router", level: "quiet", kind: "over" },
    title: "no other router leads devices past the tunnel now",
    text: "No other router leads devices outside the tunnel now.",
  },
  protection_contested: {
    ...{ cause: "contest", level: "urgent", kind: "fault" },
    title: "another program undoes each repair, so there is one repair a second",
    text: "Another program undoes each repair of the kill switch, which is now repaired once a second: find that program (a firewall service, a container engine, a script) and stop it.",
  },
  protection_uncontested: {
    ...{ cause: "contest", level: "quiet", kind: "over" },
    title: "no repair was undone for a while",
    text: "No repair of the kill switch has been undone for {seconds} s.",
  },
  protection_failed: {
    ...{ cause: "protection", level: "urgent", kind: "fault" },
    title: "the kernel refuses a part of the protection",
    texts: {
      refused: "The kernel refused a part of the kill switch: {reason}",
      late: "A part of the kill switch might be missing from the kernel: {reason}",
    },
  },
  protection_restored: {
    ...{ cause: "protection", level: "quiet", kind: "over" },
    title: "the kill switch is wholly in place again",
    text: "The kill switch has been restored.",
  },
  killswitch_off: {
    ...{ cause: "kill switch", level: "urgent", kind: "fault" },
    title: "the operator has turned the kill switch off",
    text: "The kill switch has been turned off: traffic might leave outside the tunnel.",
  },
  killswitch_on: {
    ...{ cause: "kill switch", level: "quiet", kind: "over" },
    title: "the operator has turned the kill switch on again",
    text: "The kill switch has been turned on.",
  },
  direct_changed: {
    ...{ cause: "direct", level: "normal", kind: "news" },
    title: "the exit direct was allowed or withdrawn, or a device or a destination was given it or lost it",
    texts: {
      allowed: "The exit direct is allowed now: devices that are given it leave outside the tunnel.",
      withdrawn: "The exit direct is no longer allowed.",
      devices: `Now direct, outside the tunnel: {devices}${AND_MORE}.`,
      no_devices: `No longer direct: {devices}${AND_MORE}.`,
      targets: "Now direct, outside the tunnel: traffic to {targets}.",
      no_targets: "No longer direct: traffic to {targets}.",
    },
  },
  remote_changed: {
    ...{ cause: "remote access", level: "normal", kind: "news" },
    title: "remote access was turned on or off, or a device or a link to another home was added or removed",
    texts: {
      on: "Remote access is on: devices may come in at port {port}.",
      off: "Remote access is off: no device away from home can connect.",
      added: "{device} may connect from outside.",
      removed: "{device} may no longer connect from outside.",
      linked: "This home is linked to {device}, which reaches the devices that it is allowed.",
      unlinked: "This home is no longer linked to {device}.",
    },
  },
  remote_lost: {
    ...{ cause: "way in", level: "normal", kind: "fault", after: "outage" },
    title: "no device away from home can connect",
    text: "Devices away from home cannot connect: {reason}.",
  },
  remote_found: {
    ...{ cause: "way in", level: "quiet", kind: "over" },
    title: "devices away from home can connect again",
    text: "Devices away from home can connect again.",
  },
  remote_moved: {
    ...{ cause: "way in", level: "urgent", kind: "fault" },
    title: "devices away from home must use another endpoint",
    text: "Devices away from home must use the endpoint {endpoint} now, and no longer {former}: change the endpoint in their WireGuard apps, or remove and add them again.",
  },
  account_changed: {
    ...{ cause: "account", level: "normal", kind: "news" },
    title: "the gateway was logged in or out at a provider, or has another key there",
    texts: {
      login: "The gateway was logged in at {provider}, by {by}.",
      key: "The gateway's key at {provider} was replaced, by {by}.",
      logout: "The gateway was logged out at {provider}, by {by}.",
      logout_in_part:
        "The gateway was logged out at {provider}; the account still has what only its provider can remove, by {by}.",
    },
  },
  access_changed: {
    ...{ cause: "access", level: "normal", kind: "news" },
    title: "a token was made or removed",
    texts: {
      reader: "The token {token}, which may only read, was made by {by}.",
      writer: "The token {token}, which may read and change, was made by {by}.",
      owner: "The token {token}, which may do all that root may, was made by {by}.",
      removed: "The token {token} was removed by {by}.",
    },
  },
  owner_acted: {
    ...{ cause: "owner", level: "normal", kind: "news" },
    title: "an owner has used a right that is otherwise root's",
    texts: {
      remote_on: "Remote access was turned on by {by}.",
      remote_off: "Remote access was turned off by {by}.",
      direct_on: "The exit direct was allowed by {by}.",
      direct_off: "The exit direct was withdrawn by {by}.",
      killswitch_on: "The kill switch was turned on by {by}.",
      killswitch_off: "The kill switch was turned off by {by}.",
      settings: "The settings {settings} were changed by {by}; the service restarts with them.",
      update: "An update from {release} was begun by {by}.",
    },
  },
  owner_refused: {
    ...{ cause: "owner", level: "urgent", kind: "news" },
    title: "wrong pairing codes, or a wrong passphrase of an owner",
    texts: {
      codes:
        "Wrong pairing codes came from {by}, so the right one is not valid any more. For another one, on the gateway: sudo portcullis pair",
      passphrase:
        "A wrong passphrase of the owner came with the token {token}: if that was not you, remove it.",
    },
  },
  ports_alike: {
    ...{ cause: "ports", level: "normal", kind: "news" },
    title: "a flashed gateway has several cables, and a router answers at each",
    text: "A router answers at each of {ports}: only {uplink} is used.",
  },
  backup_taken: {
    ...{ cause: "backup", level: "normal", kind: "news" },
    title: "a client of the interface has downloaded a backup",
    text: "A backup with all keys was downloaded by {by}.",
  },
  backup_restored: {
    ...{ cause: "backup", level: "normal", kind: "news" },
    title: "a client of the interface has restored a backup",
    text: "A backup of {created} was restored by {by}.",
  },
  notifications_changed: {
    ...{ cause: "notifications", level: "normal", kind: "news" },
    title: "an address gets notifications, or no longer",
    texts: {
      added: "Notifications go to {name} too ({target}), added by {by}.",
      removed: "Notifications go to {name} no longer ({target}), removed by {by}.",
      removed_unused: "Notifications go to {name} no longer, removed by {by}.",
    },
  },
  connections_full: {
    ...{ cause: "connections", level: "urgent", kind: "fault" },
    title: "most of the kernel's connection table is used",
    text: "{taken} of {all} places of the kernel's connection table are taken. One network may take {share}, and then its devices cannot connect to anything new: portcullis check names the devices that were refused more.",
  },
  connections_free: {
    ...{ cause: "connections", level: "quiet", kind: "over" },
    title: "the connection table has room again",
    text: "The kernel's connection table has room again.",
  },
  state_damaged: {
    ...{ cause: "state", level: "normal", kind: "fault" },
    title: "stored settings were damaged; the message says what is lost and what to do",
    texts: {
      tokens: "The stored tokens could not be read, and none of them is valid.",
      account: "The stored VPN account could not be read and is not used.",
      unread: "Stored settings could not be read in full: {reason}",
      other: "{reason}",
    },
  },
  state_not_saved: {
    ...{ cause: "saving", level: "normal", kind: "fault" },
    title: "the disk is full or read-only, for example: changes last only until the gateway restarts",
    text: "{reason}",
  },
  state_saved: {
    ...{ cause: "saving", level: "quiet", kind: "over" },
    title: "changes are saved again",
    text: "The database can be written again.",
  },
  list_damaged: {
    ...{ cause: "list", level: "normal", kind: "fault" },
    title: "the provider's list of servers could not be read, or not completely",
    text: "{reason}",
  },
  schedule_failed: {
    ...{ cause: "schedule", level: "normal", kind: "fault", after: "outage" },
    title: "a tunnel did not move, or a device or network did not get what its schedule gives",
    texts: {
      tunnel: `${SCHEDULE} the {tunnel, select, main {main tunnel} other {tunnel {tunnel}}} does not move: {reason}.`,
      exit: `${SCHEDULE} {device} keeps its exit: {reason}.`,
      rate: `${SCHEDULE} {device} keeps its limit: {reason}.`,
      quota: `${SCHEDULE} {device} keeps its quota: {reason}.`,
      shared_exit: `${SCHEDULE} the shared exit stays: {reason}.`,
      shared_rate: `${SCHEDULE} the shared limit stays: {reason}.`,
      shared_quota: `${SCHEDULE} the shared quota stays: {reason}.`,
    },
  },
  quota_used: {
    ...{ cause: "quota", level: "normal", kind: "news" },
    title:
      "a device or a network has used up its quota of the day or month; the message says what it may still do",
    texts: {
      told: `{device} has used its ${QUOTA}.`,
      blocked: `{device} has used its ${QUOTA}, and is blocked ${UNTIL}.`,
      limited: `{device} has used its ${QUOTA}, and is limited to ${RATE} ${UNTIL}.`,
      shared_told: `The devices without a quota of their own have used their ${QUOTA}.`,
      shared_blocked: `The devices without a quota of their own have used their ${QUOTA}, and are blocked ${UNTIL}.`,
      shared_limited: `The devices without a quota of their own have used their ${QUOTA}, and are limited to ${RATE} together ${UNTIL}.`,
    },
  },
  exit_moved: {
    ...{ cause: "exits in order", level: "quiet", kind: "news", after: "outage" },
    title: "devices with several exits use another of them",
    texts: {
      up: `Moved from {from} to {to}, because {to} is up: {devices}${AND_MORE}.`,
      down: `Moved from {from} to {to}, because {from} is down: {devices}${AND_MORE}.`,
    },
  },
  network_new: {
    ...{ cause: "network", level: "normal", kind: "news" },
    title: "a LAN interface is new; its devices are blocked until somebody gives the network an exit",
    text: "The network {network} is new, and its devices are blocked until you give it an exit: portcullis network {network} exit main",
  },
  list_shrunk: {
    ...{ cause: "list", level: "quiet", kind: "fault" },
    title: "a new list has less than half of the entries; the current one is kept",
    texts: {
      servers:
        "the new list of the VPN account's servers has {servers, plural, one {1 server} other {{servers} servers}} and the current one {current}, which is kept; to use the new one: portcullis servers update --force",
      names:
        "The list of {host} has {names} names instead of {former}. It is not used; the one before stays.",
    },
  },
} as const satisfies Record<string, Row & Sentences>;

type Rows = typeof ALERTS;
export type AlertCode = keyof Rows;

/** What an alert is about. */
export type AlertArgs<Code extends AlertCode = AlertCode> = Code extends AlertCode
  ? Rows[Code] extends { text: infer Text extends string }
    ? ArgsOf<Text>
    : Rows[Code] extends { texts: infer Texts extends Readonly<Record<string, string>> }
      ? ArgsOfTexts<Texts>
      : never
  : never;

/** The key of an alert's sentence in the catalogues: its code, with `what` after a dot. */
export function alertKey(code: AlertCode, { what }: Args): string {
  return what === undefined ? code : `${code}.${what}`;
}

/** What an alert says, in English. */
export function alertText<Code extends AlertCode>(code: Code, args: AlertArgs<Code>): string {
  const row: Sentences = ALERTS[code];
  return english("text" in row ? row.text : (row.texts[(args as Args).what ?? ""] ?? ""), args);
}

/** A macro of the page, so that it does not contain the rows' texts. */
export function alertKinds(): Record<AlertCode, AlertKind> {
  const kinds = Object.entries(ALERTS).map(([code, { kind }]) => [code, kind]);
  return Object.fromEntries(kinds) as Record<AlertCode, AlertKind>;
}
