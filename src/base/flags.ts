/** Mullvad's public list. */
const MULLVAD_LIST = "https://api.mullvad.net/www/relays/wireguard/";

/** One that is beside the port of HTTP, and free on most machines. */
export const HTTPS_PORT = 5443;

/** Every setting's flag, environment variable, default (as text) and help. */
export const FLAGS = {
  port: flag("port", "<number>", "5000", "port of the HTTP interface"),
  host: flag("host", "<address>", "::", "address to listen on; :: is every address"),
  https: flag(
    "https",
    "[on|off|port]",
    "off",
    `serve HTTPS beside HTTP: on (port ${HTTPS_PORT}), off, or a port; with tokens, the page is then served over HTTPS only`,
  ),
  httpsCert: flag(
    "https-cert",
    "<file>",
    "",
    "file with a certificate for HTTPS and those that lead to its authority, in PEM (default: one that the gateway makes itself)",
  ),
  httpsKey: flag("https-key", "<file>", "", "file with the private key of that certificate, in PEM"),
  name: {
    ...flag(
      "name",
      "<name>",
      "",
      "another name of this machine in addresses of the HTTP interface, such as gateway.lan; repeatable, or comma-separated",
    ),
    isRepeatable: true,
  },
  stateDir: flag("state-dir", "<folder>", "/var/lib/portcullis", "folder of the database"),
  interface: flag(
    "interface",
    "<name>",
    "portcullis",
    "base name of the tunnels' interfaces, at most 13 characters",
  ),
  lan: flag(
    "lan",
    "<interfaces>",
    "",
    "LAN interfaces, comma-separated (default: Ethernet and WLAN with private addresses; the uplink only if there is no other)",
  ),
  mesh: flag(
    "mesh",
    "<interfaces>",
    "",
    "interfaces of meshes by which devices come in, comma-separated, such as tailscale0 (default: none)",
  ),
  uplink: flag("uplink", "<interface>", "", "interface towards the internet (default: the default route's)"),
  dhcp: flag(
    "dhcp",
    "[on|off|ranges]",
    "off",
    "serve DHCP and IPv6 router advertisements on the LAN: on, off, or the addresses to lease, such as 192.168.1.100-192.168.1.199, a range for each LAN interface, comma-separated",
  ),
  ula: flag(
    "ula",
    "<prefix>",
    "",
    "the LAN's IPv6 prefix with --dhcp, such as fd12:3456:789a::/48 (default: a random one, which is kept)",
  ),
  managedList: flag(
    "managed-list",
    "<file|address>",
    MULLVAD_LIST,
    "JSON list of the VPN account's servers: a file or an https address; empty for none",
  ),
  managedKeyFile: flag("managed-key-file", "<file>", "", "file with your private key for the VPN account"),
  managedApi: flag(
    "managed-api",
    "<address>",
    "https://api.mullvad.net",
    "https address of the VPN provider's account API, compatible with Mullvad's",
  ),
  managedAddress: flag("managed-address", "<CIDRs>", "", "your tunnel addresses for the VPN account"),
  managedDns: flag("managed-dns", "<addresses>", "", "the VPN account's resolvers"),
  autoconnect: flag(
    "autoconnect",
    "<on|off>",
    "on",
    "connect to the last server again after a restart: on or off",
  ),
  failover: flag(
    "failover",
    "<on|off>",
    "off",
    "replace a server that has been dead, or has carried nothing, for a minute with another of its city or country: on or off",
  ),
  gluetunRoutes: flag(
    "gluetun-routes",
    "<on|off>",
    "off",
    "answer the routes of gluetun's control server that widgets read, such as /v1/publicip/ip: on or off",
  ),
  notify: {
    ...flag(
      "notify",
      "<address|file>",
      "",
      "send notifications to this ntfy://, gotify:// or https:// address, or to those in this file, one per line; repeatable, or comma-separated. Addresses contain secrets, and other users can read a command line: use a file, or the environment variable",
    ),
    isRepeatable: true,
  },
  auth: flag(
    "auth",
    "<off|write|on>",
    "off",
    "what needs a token (portcullis token): off for nothing, write for changes, on for reading too",
  ),
  portMapping: flag(
    "port-mapping",
    "<on|off>",
    "off",
    "let devices open ports at the tunnel's provider by themselves, with NAT-PMP: on or off",
  ),
  mqtt: flag(
    "mqtt",
    "<address>",
    "",
    "MQTT broker of Home Assistant, on the LAN or reached through the tunnel: mqtt://user@192.168.1.10, with TLS mqtts://",
  ),
  mqttPasswordFile: flag("mqtt-password-file", "<file>", "", "file with your password at the MQTT broker"),
  mqttCaFile: flag(
    "mqtt-ca-file",
    "<file>",
    "",
    "file with the certificate authority of the MQTT broker, in PEM (default: the well-known ones)",
  ),
  mqttCommands: flag(
    "mqtt-commands",
    "<on|off>",
    "off",
    "let everyone who may publish on the MQTT broker connect the tunnel and choose exits: on or off",
  ),
  history: flag(
    "history",
    "<on|off>",
    "on",
    "keep a history of the traffic of each tunnel and device, by minute for a day and by hour for two months: on or off",
  ),
  logLevel: flag("log-level", "<level>", "info", "debug, info, warn or error"),
};

function flag(name: string, argument: string, fallback: string, help: string) {
  return {
    name,
    argument,
    fallback,
    help,
    variable: `PORTCULLIS_${name.toUpperCase().replaceAll("-", "_")}`,
  };
}
