import { isIP } from "node:net";
import { type Static, Type } from "typebox";
import { Value } from "typebox/value";
import { isHostName } from "./address.ts";
import { enumOf } from "./enum.ts";
import { CommandError } from "./errors.ts";
import { FLAGS, HTTPS_PORT } from "./flags.ts";
import { BASE_NAME, INTERFACE_NAME, isTunnelLink } from "./interface-name.ts";
import { objectOf } from "./object.ts";

const Interface = Type.String({
  pattern: INTERFACE_NAME.source,
  description: "a network interface's name",
});

/** The operator's settings; `FLAGS` has the flag and the environment variable of each. */
export const Settings = objectOf({
  port: Type.Integer({ minimum: 1, maximum: 65535 }),
  /** Address to listen on; `::` is every address, IPv4 and IPv6. */
  host: Type.String({ minLength: 1 }),
  /** Port of HTTPS; null for none. */
  https: Type.Union([Type.Integer({ minimum: 1, maximum: 65535 }), Type.Null()]),
  /** Files with a certificate and its key, instead of those that the gateway makes itself. */
  httpsCert: Type.Union([Type.String({ pattern: "^/" }), Type.Null()]),
  httpsKey: Type.Union([Type.String({ pattern: "^/" }), Type.Null()]),
  /** Further names of this machine, such as those that a router's DNS has for it. */
  name: Type.Array(Type.String(), { maxItems: 20 }),
  stateDir: Type.String({ pattern: "^/" }),
  /** Base name of the tunnel's interfaces. */
  interface: Type.String({ pattern: BASE_NAME.source }),
  /** LAN interfaces; if empty, `lanOf` in `network/lan.ts` decides. */
  lan: Type.Array(Interface),
  /** Interfaces of meshes, by which devices come in. */
  mesh: Type.Array(Interface),
  /** Interface towards the internet; null is the default route's. */
  uplink: Type.Union([Interface, Type.Null()]),
  /** Whether the LAN gets addresses from the gateway, and which: null for not, an empty list for a range of its choice. */
  dhcp: Type.Union([Type.Array(Type.String({ pattern: "^[0-9.]+-[0-9.]+$" })), Type.Null()]),
  /** The LAN's IPv6 prefix if the gateway serves DHCP: a unique local one (RFC 4193). */
  ula: Type.Union([Type.String({ pattern: "^fd[0-9a-f]{2}(:[0-9a-f]{1,4}){0,2}::/48$" }), Type.Null()]),
  /** File or https address of the managed provider's server list. */
  managedList: Type.Union([
    Type.String({ pattern: "^(/|https://[A-Za-z0-9.:\\[\\]-]+(/\\S*)?$)" }),
    Type.Null(),
  ]),
  /** File with the private key that is registered with the managed provider. */
  managedKeyFile: Type.Union([Type.String({ pattern: "^/" }), Type.Null()]),
  /** Address of the managed provider's account API. */
  managedApi: Type.String({ pattern: "^https://[A-Za-z0-9.:\\[\\]-]+(/[A-Za-z0-9._~-]+)*/?$" }),
  /** Tunnel addresses that the managed provider assigned, comma-separated CIDRs. */
  managedAddress: Type.String(),
  /** The managed provider's resolvers, comma-separated. */
  managedDns: Type.String(),
  /** Whether a start connects to the last server again. */
  autoconnect: Type.Boolean(),
  /** Whether a server that stays dead is replaced by another of its city or country. */
  failover: Type.Boolean(),
  /** Whether gluetun's routes for reading are answered. */
  gluetunRoutes: Type.Boolean(),
  /** Where notifications go: addresses, which are secret, or files with one per line. */
  notify: Type.Array(Type.String({ pattern: "^(/|(ntfy|gotify|http)s?://)\\S+$" }), { maxItems: 20 }),
  /** What needs a token on the HTTP interface: nothing, changes, or everything but `/health`. */
  auth: enumOf(["off", "write", "on"]),
  /** Whether devices of the LAN may have ports opened by themselves. */
  portMapping: Type.Boolean(),
  /** Address of the MQTT broker that Home Assistant uses. */
  mqtt: Type.Union([
    Type.String({
      pattern:
        "^mqtts?://(([^/@:%\\s]|%[2-7][0-9A-Fa-f])+@)?(\\[[0-9A-Fa-f:.]+\\]|[A-Za-z0-9._-]+)(:[1-9][0-9]{0,4})?/?$",
    }),
    Type.Null(),
  ]),
  mqttPasswordFile: Type.Union([Type.String({ pattern: "^/" }), Type.Null()]),
  /** File with the only certificate authority that counts for the broker. */
  mqttCaFile: Type.Union([Type.String({ pattern: "^/" }), Type.Null()]),
  /** Whether Home Assistant may move tunnels and devices. */
  mqttCommands: Type.Boolean(),
  /** Whether what tunnels and devices have carried is kept. */
  history: Type.Boolean(),
  logLevel: enumOf(["debug", "info", "warn", "error"]),
});
export type Settings = Static<typeof Settings>;

/** Any other text is left for the schema to refuse. */
function switchIn(text: string): boolean | string {
  return text === "on" ? true : text === "off" ? false : text;
}

function listIn(text: string): string[] {
  return text
    .split(",")
    .map((each) => each.trim())
    .filter((each) => each !== "");
}

/** Null for `off`. Any other text is left for the schema to refuse. */
function portIn(text: string): number | null | string {
  if (text === "off") return null;
  if (text === "on") return HTTPS_PORT;
  return /^[0-9]+$/.test(text) ? Number(text) : text;
}

/** Null for `off`; an empty list for `on`. Any other text is left for the schema to refuse. */
function rangesIn(text: string): string[] | null {
  if (text === "off") return null;
  return text === "on" ? [] : text.split(",").map((range) => range.trim());
}

/** Throws `GatewayError("bad_request")` that names the flag. */
export function settingsFrom(texts: Partial<Record<keyof Settings, string>>): Settings {
  const flags: Record<keyof Settings, { fallback: string }> = FLAGS;
  const text = (key: keyof Settings) => texts[key] ?? flags[key].fallback;
  const settings = {
    port: /^[0-9]+$/.test(text("port")) ? Number(text("port")) : text("port"),
    host: text("host"),
    https: portIn(text("https")),
    httpsCert: text("httpsCert") || null,
    httpsKey: text("httpsKey") || null,
    name: listIn(text("name")),
    stateDir: text("stateDir"),
    interface: text("interface"),
    lan: listIn(text("lan")),
    mesh: listIn(text("mesh")),
    uplink: text("uplink") || null,
    dhcp: rangesIn(text("dhcp")),
    ula: text("ula").toLowerCase() || null,
    managedList: text("managedList") || null,
    managedKeyFile: text("managedKeyFile") || null,
    managedApi: text("managedApi"),
    managedAddress: text("managedAddress"),
    managedDns: text("managedDns"),
    autoconnect: switchIn(text("autoconnect")),
    failover: switchIn(text("failover")),
    gluetunRoutes: switchIn(text("gluetunRoutes")),
    notify: listIn(text("notify")),
    auth: text("auth"),
    portMapping: switchIn(text("portMapping")),
    mqtt: text("mqtt") || null,
    mqttPasswordFile: text("mqttPasswordFile") || null,
    mqttCaFile: text("mqttCaFile") || null,
    mqttCommands: switchIn(text("mqttCommands")),
    history: switchIn(text("history")),
    logLevel: text("logLevel"),
  };
  refusePassword(settings.mqtt);
  // Not compiled: for a single check that takes longer, and a start waits for it.
  if (!Value.Check(Settings, settings)) {
    const [fault] = Value.Errors(Settings, settings);
    const key = (fault?.instancePath.split("/")[1] ?? "port") as keyof Settings;
    return refuse(key, fault?.message ?? "not usable");
  }
  // A name would have to be looked up before the network is up.
  if (isIP(settings.host) === 0 && settings.host !== "localhost")
    refuse("host", "must be an IP address or localhost");
  const other = settings.name.find((each) => !isHostName(each));
  if (other !== undefined) refuse("name", "must be names of a machine, without port or address");
  if (settings.https === settings.port) refuse("https", "must be another port than that of HTTP");
  if ((settings.httpsCert === null) !== (settings.httpsKey === null))
    refuse(settings.httpsCert === null ? "httpsCert" : "httpsKey", "is needed too: name both files");
  refuseTunnels(settings);
  if (settings.mqtt !== null && !URL.canParse(settings.mqtt)) refuse("mqtt", "is not an address");
  return settings;
}

/** The address to listen on: what `localhost` means depends on /etc/hosts, and commands send root's token to one address. */
export function addressIn({ host }: Pick<Settings, "host">): string {
  return host === "localhost" ? "127.0.0.1" : host;
}

/** The address at which commands on this machine reach its HTTP interface, as an origin. */
export function localUrl({ host, port }: Pick<Settings, "host" | "port">): string {
  const address = ["::", "0.0.0.0"].includes(host) ? "127.0.0.1" : addressIn({ host });
  const url = `http://${address.includes(":") ? `[${address}]` : address}:${port}`;
  // Without the default port; an address with a zone has no origin.
  return URL.parse(url)?.origin ?? url;
}

/** Other programs can read a command line. The message must not quote it. */
function refusePassword(address: string | null): void {
  if (/^mqtts?:\/\/[^/]*:[^/]*@/.test(address ?? ""))
    refuse("mqtt", "must not hold a password; put it into a file and name that with --mqtt-password-file");
}

function refuseTunnels({ lan, mesh, uplink, interface: base }: Settings): void {
  const other = mesh.find((each) => each === uplink || lan.includes(each));
  if (other !== undefined) refuse("mesh", `${other} is the LAN's or the uplink`);
  for (const [key, names] of [
    ["lan", lan] as const,
    ["mesh", mesh] as const,
    ["uplink", [uplink ?? ""]] as const,
  ]) {
    const name = names.find((each) => isTunnelLink(each, base));
    if (name !== undefined)
      refuse(key, `${name} is the name of a tunnel's interface; choose another base name with --interface`);
  }
}

function refuse(key: keyof Settings, what: string): never {
  const { name, variable, help } = FLAGS[key];
  throw new CommandError("bad_request", `--${name} (${variable}): ${what} (${help})`);
}
