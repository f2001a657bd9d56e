import { AND_MORE, RATE } from "../base/alert-rows.ts";
import { type ArgsOf, english } from "../base/message.ts";
import { CAUSE } from "../tunnel/quality-verdict.ts";

interface Row {
  /** What was found. A `reason` is the gateway's own text, in English. */
  text: string;
  /** What to do about it, unless all is well. What has none is never a warning or a fault. */
  advice?: string;
}

/** A server, with the one through which it is reached. */
const SERVER = "{hops, select, unknown {the server} two {{server} via {via}} other {{server}}}";
/** How it is reached, unless in the usual way. */
const WAY =
  "{way, select, usual {} port { at port {port}, because it does not answer at its usual one from here} other { by {transport} at {protocol} port {port}, {way, select, configuration {as its configuration says} plain {because plain WireGuard is blocked here} wireguard {because WireGuard is recognised and blocked here} udp {because UDP is blocked here} flows {because UDP is cut off here after a while} other {as was asked for}}}}";
const DIRECT_OFF = "to end it: sudo portcullis direct off";
const STARTED_BY_ITSELF = "It starts by itself once that is solved. Its log: journalctl -u portcullis-dhcp";
const SET_CLOCK = 'Set the clock: sudo date -u -s "YYYY-MM-DD HH:MM"';
const IPV6_OFF = "Turn off IPv6, or its router advertisements, in the settings of the other router.";
const DHCP_OFF =
  "Turn off the other DHCP server, or let it give devices the gateway as router and as DNS server.";
const ANOTHER = "Try another server: portcullis connect, with a country or a city.";
const RESOLVER =
  "the tunnel's resolver {resolver} {answer, select, none {does not answer} other {refuses queries ({answer})}}";
const NAME_FIRST = "Name {other} first in the DNS line of the server's file.";
const FIGURES =
  "{measured, select, both {round trip and loss in tunnels: {tunnels}; to the home router: {uplink}} tunnels {round trip and loss in tunnels: {tunnels}} other {round trip and loss to the home router: {uplink}}}";
const CALLED = "devices call {endpoint}";
const OPENED_BY = "{protocol, select, none {} other {, which the home router opens by {protocol}}}";
const BY_HAND =
  "In the home router, forward UDP port {port} to {to, select, unknown {the gateway's address} other {{to}}}, port {to_port}.";
const TOKENS =
  "there {tokens, plural, one {is 1} other {are {tokens}}}, {readers, plural, =0 {none read-only} other {{readers} read-only}}";
const MAKE_TOKEN = "Make one for each client: {add}. If no token should be needed: {command}";
const REPAIR_HTTPS = "Repair that; the gateway tries again by itself, and needs no restart.";
const RENEW = "Renew it: the gateway reads {file} again each minute.";
const TABLE =
  "{all, plural, =0 {none yet} other {{taken} of {all} entries of the connection table are in use}}";
const SD_CARD = "A worn SD card loses data.";

/** All that the checks find, by code: what they say on each surface. */
export const FINDINGS = {
  check_failed: {
    text: "could not be checked: {reason}",
    advice: "Check again. If this stays: portcullis logs",
  },
  version: { text: "{version}" },
  networks: {
    text: "{exits}; {open, select, none {nothing passes between them} other {{open} reach each other}}{closed, select, none {} other {; without the gateway's page: {closed}}}",
  },
  mesh: { text: "{meshes}: their devices reach the internet only by an exit" },
  mesh_missing: {
    text: "{link} is not there, or has no address that tells those of its devices",
    advice: "Start the mesh, or correct the setting --mesh.",
  },
  mesh_closed: {
    text: "nothing comes in by {link} with addresses of {prefix}, because a tunnel or another interface has such addresses, too",
    advice: "Give one of them other addresses.",
  },
  mesh_marks: {
    text: "a routing rule of another program takes the gateway's marks for its own: {rule}",
    advice: "Give that program another mark.",
  },
  mesh_dns: {
    text: "this machine asks the mesh's resolver {resolver}, which the gateway does not use for its servers' names",
    advice: "Turn it off: sudo tailscale set --accept-dns=false",
  },
  version_replaced: {
    text: "{version} still runs, but its file has been replaced",
    advice: "Start the new one: {command}. The tunnel stays up meanwhile.",
  },
  version_incomplete: {
    text: "{version} runs, but its setup was not completed",
    advice: "Complete it: {command}. The tunnel stays up meanwhile.",
  },
  service_stopped: {
    text: "it is not running; the kill switch is as the service left it",
    advice: "Start it: sudo systemctl start portcullis. If it ends again: portcullis logs",
  },
  parts_failed: {
    text: "some have failed: {reason}",
    advice: "They are started again every five minutes, or sooner. If that does not help: portcullis logs",
  },
  killswitch_off: {
    text: "turned off on the gateway: traffic may leave outside the tunnel",
    advice: "Turn it on: sudo portcullis killswitch on",
  },
  firewall_holds: { text: "its rules are in the kernel: what they do not accept is refused" },
  routing_holds: {
    text: "its rules are in the kernel: nothing but tunnels and the LAN can be reached",
  },
  layer_broken: {
    text: "{reason}",
    advice: "The service repairs it. If it happens again, another program undoes it: portcullis logs",
  },
  layer_unrepaired: {
    text: "{reason}",
    advice: "Start the service: sudo systemctl start portcullis",
  },
  rules_first: { text: "no other program's routing rule comes first" },
  rules_behind: {
    text: "{reason}; only the firewall blocks",
    advice: "Find the program that adds the rule and turn it off, then remove the rule: {remedy}",
  },
  direct_none: { text: "no device leaves outside the tunnel" },
  direct_targets: {
    text: "traffic to some destinations leaves outside the tunnel, as allowed on the gateway",
    advice: `See which: portcullis destinations; ${DIRECT_OFF}`,
  },
  direct_devices: {
    text: "{devices, plural, one {1 device leaves} other {{devices} devices leave}} outside the tunnel, as allowed on the gateway",
    advice: `See which: sudo portcullis direct{destinations, select, yes {, portcullis destinations} other {}}; ${DIRECT_OFF}`,
  },
  change_taken: { text: "the kernel took the last change" },
  change_failed: {
    text: "the last change {reason}",
    advice:
      "The service keeps trying. If this stays: portcullis logs, then sudo systemctl restart portcullis",
  },
  forwarding_on: { text: "on: the devices of the LAN are served" },
  forwarding_off: {
    text: "off: the devices of the LAN are not served",
    advice: "Another program has turned it off. Turn it on: sudo sysctl -w net.ipv4.ip_forward=1",
  },
  firewalls_none: { text: "none drops what the LAN sends" },
  firewalls_drop: {
    text: "another firewall drops {drops, select, tunnels {what the LAN sends into the tunnel} uplink {what direct devices send to the uplink} udp {what the LAN sends into the tunnel over UDP} other {what the LAN sends}}: {chains}",
    advice: "Let it through: {remedy}",
  },
  bridge_filtered: {
    text: "devices on different ports of the bridge {bridges} cannot reach each other, because br_netfilter passes what they send through the firewall",
    advice: "Leave bridged frames alone: {remedy}",
  },
  page_closed: {
    text: "another firewall keeps devices from the gateway's page, port {ports}: {chains}",
    advice: "If they should reach it: {remedy}",
  },
  iptables_legacy: {
    text: "iptables-legacy has rules that nft does not show",
    advice: "Check whether they drop what the LAN sends: sudo iptables-legacy -S FORWARD",
  },
  clock: { text: "{clock}" },
  clock_unset: {
    text: "{clock}, which is before this version of Portcullis was made",
    advice: `${SET_CLOCK}.`,
  },
  clock_behind: {
    text: "{clock}, but this machine has already seen {latest}: servers refuse a handshake from the past",
    advice: `If the clock is wrong: ${SET_CLOCK}. If it is right, it was ahead then: connect to another server, or replace this gateway's key.`,
  },
  clock_ahead: {
    text: "{clock}, which is years ahead: servers that see it refuse this key until then",
    advice: `${SET_CLOCK}, before you connect.`,
  },
  clock_unconfirmed: {
    text: "{clock}, but no time server has confirmed it",
    advice:
      "Compare it with another clock. Time servers are reached through the tunnel only: connect, and turn the time service on: sudo timedatectl set-ntp true",
  },
  uplink: { text: "{uplink} has {addresses}" },
  uplink_missing: {
    text: "there is no default route",
    advice:
      "Check that the uplink's cable is plugged in and the home router is on. If the uplink needs no default route, name it with --uplink.",
  },
  uplink_unaddressed: {
    text: "{uplink} has no address from the home router",
    advice:
      "Check that the cable is plugged in and the home router's DHCP server is on, or set an address by hand.",
  },
  uplink_down: {
    text: "{uplink} has {addresses}, but no carrier or no default route",
    advice: "Check that the cable is plugged in and the home router is on.",
  },
  router_silent: {
    text: "{uplink} has {addresses}, but the home router {router} does not answer",
    advice: "Check that the home router is on and has this address.",
  },
  lan: { text: "{lans}" },
  lan_and_uplink: { text: "{lans}; it is also the uplink" },
  lan_missing: {
    text: "no interface has a private address",
    advice: "Connect the LAN's cable, or name its interface with --lan.",
  },
  lan_unusable: {
    text: "{reason}",
    advice: "Connect the LAN's cable, or name its interface with --lan.",
  },
  lan_covered: {
    text: "{lans}; {prefix} does not count as LAN, because it covers the address of a tunnel",
    advice:
      "If you have chosen this prefix, give the LAN another one. If not, a device on the LAN advertises it: turn off its router advertisements. IPv4 works meanwhile.",
  },
  lan_route: {
    text: "{lans}; another interface has a route to a part of it, which is not used: {route}",
    advice:
      "A DHCP server or a router on that network has set it, by mistake or to listen. If that network has the LAN's own addresses, give the LAN others.",
  },
  lan_doubtful: {
    text: "{lans}; {reason}",
    advice: "Correct that, or the settings --lan and --uplink.",
  },
  dhcp: { text: "{ranges}" },
  dhcp_missing: { text: "it is not installed", advice: "Install it: {command}" },
  dhcp_outdated: {
    text: "the LAN has changed, and the server still gives out addresses of the old one",
    advice:
      "It starts again by itself within half a minute. If this stays: sudo systemctl restart portcullis-dhcp",
  },
  dhcp_unfit: {
    text: "it serves nobody: {reason}",
    advice: "If the LAN has changed, choose addresses of it: {command}",
  },
  dhcp_starting: { text: "it is starting", advice: STARTED_BY_ITSELF },
  dhcp_waiting: { text: "it waits: {reason}", advice: STARTED_BY_ITSELF },
  dhcp_stopped: {
    text: "it does not run",
    advice: "Start it: sudo systemctl start portcullis-dhcp",
  },
  routers_none: { text: "none leads devices past the gateway" },
  routers_unheard: { text: "none were heard" },
  routers_dhcp: { text: "a DHCP server gives out addresses on {links}; no IPv6 router was heard" },
  routers_ipv6: {
    text: "{router} on {link} is an IPv6 router: devices that use it leave outside the tunnel",
    advice: `${IPV6_OFF} Devices that do not use the gateway are out of its reach.`,
  },
  routers_lead: {
    text: "{reason}: devices that use it leave outside the tunnel",
    advice: `{families, select, ipv4 {${DHCP_OFF}} ipv6 {${IPV6_OFF}} other {${IPV6_OFF} ${DHCP_OFF}}} docs/other-routers.md has the steps for common routers.`,
  },
  resolver: { text: "{resolvers}" },
  resolver_missing: {
    text: "{reason}",
    advice:
      "Servers with an address work. For servers with a name, let DHCP set a resolver, or write one to /etc/resolv.conf.",
  },
  tunnel_up: {
    text: `connected to ${SERVER}${WAY}{keys, select, safe {, with keys that are safe from quantum computers} other {}}; last handshake {seconds} s ago`,
  },
  tunnel_unsafe: {
    text: `connected to ${SERVER}${WAY}, but its keys are not safe from quantum computers: it agreed on none that are`,
    advice:
      "Connect to another of Mullvad's servers, or again later. With --quantum require, nothing is carried without such keys.",
  },
  tunnel_stale: {
    text: `connected to ${SERVER}, but there was no handshake for three minutes`,
    advice: "The gateway reconnects by itself when the server stays silent. Check again in a minute.",
  },
  tunnel_off: {
    text: "not connected: nothing leaves by it",
    advice: "Connect it: {command}, with a server, a country or a city.",
  },
  tunnel_connecting: {
    text: `connecting to ${SERVER}`,
    advice: "Wait some seconds and check again.",
  },
  tunnel_unanswered: {
    text: `${SERVER} answered the handshake{seconds, select, unknown {} other { {seconds} s ago}}, but no data came back`,
    advice: `The server is up and knows your key, but does not carry your traffic.{provider, select, managed { Check whether your account has expired: sudo portcullis account show.} other {}} ${ANOTHER}`,
  },
  tunnel_offline: { text: "{reason}", advice: "The uplink is down: repair it first." },
  tunnel_detour: {
    text: "{reason} (what is sent to it takes the route {detour}, and not the default route)",
    advice:
      "If this route is not yours, a machine on the uplink has set it, by DHCP or router advertisements. Nothing leaves outside the tunnel by it. Remove it: sudo ip route del {detour}",
  },
  tunnel_clock_behind: { text: "{reason}", advice: "The clock is behind: set it first." },
  tunnel_unkeyed: {
    text: "{reason}",
    advice:
      "The server answers, but not with the keys that are required. Connect to another of Mullvad's servers, or do without: portcullis connect, with --quantum on.",
  },
  tunnel_uncontacted: {
    text: "{reason}",
    advice: "The server was not contacted. Solve this first, then connect again.",
  },
  tunnel_server_down: {
    text: "{reason} (another server accepts the same key)",
    advice:
      "The key is good and the uplink works, so {hops, select, two {one of the two servers} other {this server}} is down. Try another one: portcullis connect, with a country or a city.",
  },
  tunnel_refused: {
    text: "{reason} (no other server has accepted the key lately)",
    advice:
      "The server is down, or the provider refuses the key because the account has expired or the key was removed. To see which: sudo portcullis account show. If the account is good, try another server.",
  },
  tunnel_silent: {
    text: "{reason}",
    advice:
      "Check that the server is up, that its address, port and public key are right, and that it has this gateway's public key. Some networks block UDP: try another port if the server has one.",
  },
  dns: { text: "the tunnel's resolver {resolver} answers" },
  dns_missing: {
    text: "the tunnel has no resolver, so queries that are sent to the gateway are not answered",
    advice: "Give the server one: the DNS line of its file, or --dns of portcullis add.",
  },
  dns_silent: {
    text: RESOLVER,
    advice: "Check the DNS address in the server's configuration, or try another server.",
  },
  dns_outside: {
    text: `${RESOLVER}, and the AllowedIPs of its configuration leave it out`,
    advice:
      "The server may well work: give its configuration a resolver that is in its AllowedIPs, and import it again.",
  },
  dns_replaced: { text: `${RESOLVER}; {other} is asked in its place`, advice: NAME_FIRST },
  dns_stuck: {
    text: `${RESOLVER}, and devices are led to it alone; {other} answers`,
    advice: NAME_FIRST,
  },
  inside_unmeasured: {
    text: "not measured while the kill switch is off: queries could leave outside the tunnel",
    advice: "Turn it on: sudo portcullis killswitch on",
  },
  mtu: { text: "packets of {mtu} bytes, the longest, pass" },
  mtu_unmeasured: { text: "not measured: the resolver answers no long queries" },
  mtu_short: {
    text: "packets of {mtu} bytes do not pass; the longest that do have {longest}: some sites hang",
    advice: "Give the server an MTU of {longest}: the MTU line of its file, or --mtu of portcullis add.",
  },
  quality: { text: FIGURES },
  quality_good: {
    text: `${FIGURES}. If a device is slow all the same, it is its own way to the gateway: its Wi-Fi or cable`,
  },
  quality_poor: {
    text: `{tunnel, select, none {the uplink to the home router} main {the main tunnel} other {the tunnel {tunnel}}} {state, select, slow {is slow} other {is lossy}}; ${FIGURES}`,
    advice: CAUSE,
  },
  line: { text: `${RATE} is shared among the devices, on {links}` },
  line_waiting: { text: `${RATE} is shared among the devices, once there is a LAN or a tunnel` },
  line_missing: {
    text: `${RATE} is shared among the devices, but not on {links}`,
    advice:
      "Another program has changed the queue of this interface, or the kernel cannot do it: portcullis logs. Set the rates again in the settings.",
  },
  ipv6_missing: { text: "the kernel has none: only IPv4 is used" },
  ipv6_off: { text: "turned off on this machine: only IPv4 is used" },
  ipv6_filtered: { text: "on; filtered like IPv4" },
  ipv6_carried: { text: "on; the tunnel carries it" },
  ipv6_refused: { text: "on; the tunnel carries none, so it is refused" },
  forwards: { text: "{open} open{opening, plural, =0 {} other {, {opening} being opened}}" },
  forwards_closed: {
    text: "{closed} of {all} closed: {reason}",
    advice:
      "Solve the reason, and the port opens by itself; after a refusal by the provider that can take ten minutes. All ports: portcullis forwards",
  },
  remote: { text: `${CALLED}${OPENED_BY}` },
  remote_elsewhere: { text: `${CALLED}; open is {open}${OPENED_BY}` },
  remote_used: { text: `${CALLED}, and one has come in since remote access began` },
  remote_closed: {
    text: "no device can come in: {reason}",
    advice: `{port, plural, =0 {See: portcullis remote} other {${BY_HAND}}}`,
  },
  remote_unseen: {
    text: `${CALLED}; whether that leads here cannot be seen`,
    advice: `{port, plural, =0 {Try it with a device outside your home. The VPN provider must forward that port to the tunnel.} other {${BY_HAND}}}`,
  },
  remote_unopened: {
    text: `${CALLED}; whether that leads here cannot be seen: {reason}`,
    advice: `{port, plural, =0 {Try it with a device outside your home. The VPN provider must forward that port to the tunnel.} other {${BY_HAND}}}`,
  },
  remote_link_closed: {
    text: "nothing passes to or from {home}: {reason}",
    advice: "Solve the reason, or end the link: portcullis link remove {home}",
  },
  remote_link_silent: {
    text: "the gateway of {home} was heard before, and is silent now",
    advice: "See if it has power and internet, and if remote access is on there.",
  },
  remote_link_circle: {
    text: "what {home} sends to the internet from here is refused: its exit, {tunnel}, leads to a home, and packets could go in a circle",
    advice: "Give it another exit: portcullis device {home} exit blocked",
  },
  access_write: { text: `changes need a token; ${TOKENS}` },
  access_all: { text: `everything needs a token; ${TOKENS}` },
  access_read_only: {
    text: "changes need a token, and there is none: the page can only be read",
    advice: MAKE_TOKEN,
  },
  access_closed: {
    text: "everything needs a token, and there is none: nobody can use the page",
    advice: MAKE_TOKEN,
  },
  https: {
    text: "port {port}; the certificate is valid until {day}, and its SHA-256 fingerprint is {fingerprint}",
  },
  https_failed: { text: "does not work: {reason}", advice: REPAIR_HTTPS },
  https_former: { text: "the former certificate is used: {reason}", advice: REPAIR_HTTPS },
  https_starting: { text: "it is just starting", advice: "Check again in a moment." },
  https_expired: {
    text: "the certificate in {file} has expired on {day}: browsers refuse it",
    advice: RENEW,
  },
  https_expiring: { text: "the certificate in {file} expires on {day}", advice: RENEW },
  connections: { text: TABLE },
  connections_full: {
    text: `${TABLE}: when three quarters are, devices cannot connect to anything new`,
    advice: "Stop the program that opens these connections, on the gateway or on a device.",
  },
  connections_unbounded: {
    text: `${TABLE}; one device could use all of them`,
    advice:
      "See why the kernel refuses the table portcullis_bounds: portcullis logs. If the kernel was upgraded, restart the machine.",
  },
  connections_refused: {
    text: `${TABLE}; further connections were refused to {devices}${AND_MORE} in the last ten minutes`,
    advice: "Check what runs there. A torrent client can be limited to fewer connections.",
  },
  neighbours_refused: {
    text: `${TABLE}; more questions for IPv6 neighbours than any device needs came from {devices}${AND_MORE} in the last ten minutes`,
    advice: "Check what runs there: it may be disturbing IPv6 for other devices.",
  },
  disk: {
    text: "{free} free for the database",
    advice: "Make room: sudo apt-get clean, and sudo journalctl --vacuum-size=50M",
  },
  disk_unknown: {
    text: "the free space is not known",
    advice: "Check that the folder of the database exists.",
  },
  database: { text: "can be read and is not damaged" },
  database_faulty: {
    text: "{reason}",
    advice: "Check whether the disk is full or read-only. A worn SD card becomes read-only: replace it.",
  },
  database_exits_lost: {
    text: "{reason}",
    advice: `Or restore a backup: sudo portcullis restore. See the devices: portcullis devices. ${SD_CARD}`,
  },
  database_damaged: {
    text: "{reason}",
    advice: `Restore a backup if you have one: sudo portcullis restore. ${SD_CARD}`,
  },
  memory: {
    text: "{free} available",
    advice: "Stop programs that this machine does not need, or restart it.",
  },
  memory_unknown: { text: "not known" },
} as const satisfies Record<string, Row>;

type Rows = typeof FINDINGS;
export type FindingCode = keyof Rows;
/** Those that can be a warning or a fault. */
export type AdvisedCode = {
  [Code in FindingCode]: Rows[Code] extends { advice: string } ? Code : never;
}[FindingCode];

/** What a finding is about. */
export type FindingArgs<Code extends FindingCode> = ArgsOf<
  Rows[Code] extends { advice: infer Advice extends string }
    ? `${Rows[Code]["text"]}${Advice}`
    : Rows[Code]["text"]
>;

/** What was found and what to do, in English. */
export function findingText<Code extends FindingCode>(code: Code, args: FindingArgs<Code>) {
  const { text, advice }: Row = FINDINGS[code];
  return { found: english(text, args), advice: advice === undefined ? null : english(advice, args) };
}
