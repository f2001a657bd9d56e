import type { AlertCode } from "../base/alert.ts";
import type { Code } from "../base/errors.ts";
import type { Check } from "../checks/schema.ts";
import { sentenceFrom } from "../shared/words.ts";
import { beginOfItsWords } from "./format.ts";
import { say, shown } from "./language.ts";

/**
 * What the gateway tells, by its codes. Its own texts are English, and name the field and the value. In another language
 * they follow a sentence of the page's own, after a line break: `Told` shows them as what they are.
 */

/** The gateway's own text. */
export function inItsWords(text: string): string {
  return shown === "en" ? text : `\n${text}`;
}

/** The gateway's part of a text. */
export function itsWords(text: string): string {
  return text.slice(beginOfItsWords(text));
}

/** An error by its code; an older gateway sends none. */
export function errorText(code: string | null, text: string): string {
  if (shown === "en") return text;
  return `${Object.hasOwn(ERRORS, code ?? "") ? ERRORS[code as Code] : say("The gateway says:")}${inItsWords(text)}`;
}

const ERRORS: Readonly<Record<Code, string>> = {
  bad_request: say("The gateway does not accept this."),
  not_found: say("This does not exist, or no longer does."),
  forbidden: say("This is not allowed."),
  rate_limited: say("There were too many requests at once."),
  no_answer: say("The server does not answer."),
  interrupted: say("Another action came first."),
  kernel_refused: say("The gateway’s operating system has refused it."),
  storage_full: say("The gateway’s disk is full or read-only."),
  timed_out: say("It took too long."),
  unable: say("The gateway cannot do this now."),
};

/** What is wrong with a field. */
export function faultText(text: string): string {
  return shown === "en" ? text : `${say("This is not right.")}${inItsWords(text)}`;
}

/** What an alert says. */
export function alertText({ code, message }: { code: AlertCode; message: string }): string {
  if (shown === "en") return message;
  return `${Object.hasOwn(ALERTS, code) ? ALERTS[code] : ""}${inItsWords(sentenceFrom(message))}`;
}

const ALERTS: Readonly<Record<AlertCode, string>> = {
  firewall_altered: say("Another program has changed the kill switch’s firewall."),
  firewall_restored: say("The kill switch’s firewall has been restored."),
  routing_altered: say("Another program has changed the kill switch’s routing."),
  routing_restored: say("The kill switch’s routing has been restored."),
  foreign_rule: say("Another program’s routing rule comes before those of the kill switch."),
  foreign_rule_gone: say("No routing rule of another program comes before those of the kill switch now."),
  lan_route: say("A route leads to a part of the LAN through another interface."),
  lan_route_gone: say("No route leads to a part of the LAN by another interface now."),
  forwarding_dropped: say("Another firewall drops what the LAN sends."),
  forwarding_restored: say("No other firewall drops what the LAN sends now."),
  other_router: say("Devices might leave outside the tunnel through another router."),
  other_router_gone: say("No other router leads devices outside the tunnel now."),
  protection_contested: say("Another program undoes each repair of the kill switch."),
  protection_uncontested: say("No repair of the kill switch has been undone for a while."),
  protection_failed: say("The kill switch is not fully in place."),
  protection_restored: say("The kill switch is in place again."),
  killswitch_off: say("The kill switch was turned off."),
  killswitch_on: say("The kill switch was turned on."),
  direct_changed: say("Which devices leave directly was changed."),
  remote_changed: say("Remote access was changed."),
  remote_lost: say("No device can come in from the road."),
  remote_found: say("Devices away from home can connect again."),
  remote_moved: say("Devices away from home must connect to another address."),
  account_changed: say("The VPN account was changed."),
  access_changed: say("A token was made or removed."),
  backup_taken: say("A backup was made."),
  backup_restored: say("A backup was restored."),
  notifications_changed: say("The notifications were changed."),
  connections_full: say("The connection table is almost full."),
  connections_free: say("The connection table has space again."),
  state_damaged: say("Saved settings were damaged."),
  state_not_saved: say("Changes cannot be saved."),
  state_saved: say("Changes are saved again."),
  list_damaged: say("The list of servers was damaged."),
  schedule_failed: say("A schedule has failed."),
  quota_used: say("A quota is used up."),
  exit_moved: say("Some devices now use another of their exits."),
  list_shrunk: say("The new list of servers is much shorter, so the previous one is kept."),
};

/** The title of a check. One that this page does not know has the gateway's. */
export function checkTitle({ id, title }: Pick<Check, "id" | "title">): string {
  if (shown === "en") return title;
  const [, tunnel] = /^tunnel:(.*)$/.exec(id) ?? [];
  if (tunnel !== undefined)
    return say("{tunnel, select, main {Main tunnel} other {Tunnel {tunnel}}}", { tunnel });
  return (Object.hasOwn(CHECKS, id) && CHECKS[id]) || title;
}

/** The titles by id, but for those of tunnels. */
export const CHECKS: Readonly<Record<string, string>> = {
  version: say("Version"),
  service: say("Service"),
  firewall: say("Kill switch: firewall"),
  routing: say("Kill switch: routing"),
  other_rules: say("Other programs’ routing rules"),
  direct: say("Direct devices"),
  last_change: say("Kill switch: last change"),
  other_firewalls: say("Other firewalls"),
  forwarding: say("Packet forwarding"),
  clock: say("Clock"),
  uplink: say("Uplink"),
  lan: say("LAN"),
  dhcp: say("DHCP server"),
  other_routers: say("Other routers on the LAN"),
  resolver: say("Resolver for server names"),
  dns: say("DNS inside the tunnel"),
  mtu: say("Packet size in the tunnel"),
  quality: say("Quality"),
  line: say("Line"),
  ipv6: say("IPv6"),
  forwards: say("Forwarded ports"),
  remote: say("Remote access"),
  access: say("Access"),
  https: say("HTTPS"),
  connections: say("Connections"),
  disk: say("Disk"),
  database: say("Database"),
  memory: say("Memory"),
};
