/** What people give to a VPN gateway that is no WireGuard configuration: what it is, and what to do instead. */

/** What to do with a file that has all that is needed, in another form. */
const REWRITE =
  "import the .conf file from which it was made, or write one with its keys: PrivateKey and Address in [Interface], PublicKey, Endpoint and AllowedIPs in [Peer]";

/** Each follows "it" or the name of a file. */
export const FILE_WORDS = {
  empty: "is empty: download or export it again",
  picture:
    "is not a text file, but a picture: scan its QR code with the WireGuard app of a phone, export the tunnel there, and import that file",
  pdf: "is not a text file, but a PDF: download the configuration itself from your provider, a .conf file",
  archive:
    "is not a text file, but an archive that is not a zip: unpack it, and import the .conf files in it",
  nested: "is not a text file, but an archive inside an archive: unpack it, and import the .conf files in it",
  program:
    "is not a text file, but a program or its installer: download the configuration from your provider, a .conf file",
  database:
    "is not a text file, but a database, such as that of wg-easy: download the configuration of one client there, a .conf file",
  resource:
    "is not a text file, but what macOS keeps beside one: import the file of the same name without ._ before it",
  document: "is a document of a word processor: save its text as plain text, in a file that ends in .conf",
  openvpn:
    "is an OpenVPN file, and the gateway uses WireGuard: on your provider's website, choose WireGuard instead of OpenVPN and download that file",
  vpn: "is for another VPN than WireGuard, such as IPsec: on your provider's website, choose WireGuard and download that file",
  proxy:
    "is a link to a proxy, and the gateway uses WireGuard: ask your provider for a WireGuard configuration, a .conf file",
  amnezia:
    "is a share link of AmneziaVPN: share the connection there in the format of AmneziaWG or WireGuard, and import that .conf file",
  link: "is a link for an app, and not a configuration: export the tunnel in the app that made the link, and import that .conf file",
  mobileconfig:
    "is a configuration profile for Apple devices: on a device that has it, export the tunnels in the WireGuard app, and import that zip",
  networkd: `is a file of systemd-networkd: ${REWRITE}`,
  networkmanager: `is a connection of NetworkManager: ${REWRITE}`,
  router: `is a configuration of a router, such as one with OpenWrt or RouterOS: ${REWRITE}`,
  wgeasy:
    "is the list of clients of wg-easy: the command portcullis import on the gateway lets them come in from outside, and writes a new file for each",
  gluetun:
    "is a file of gluetun: the command portcullis import on the gateway shows the commands that do what it asks for",
  servers:
    "is a list of servers, without a private key: log in with sudo portcullis account login, or make a WireGuard configuration on your provider's website and import that",
  data: "is a file of another program: export a WireGuard configuration there, and import that .conf file",
  html: "is a web page, such as a login page that was saved instead of the file: log in on your provider's website, and download the file again",
  shortcut: "is a shortcut to a web page: open it, and download the configuration there",
  key: "is a key alone: a WireGuard configuration has [Interface] and [Peer]; download it from your provider",
  server:
    "is the configuration of a WireGuard server, whose peers have no Endpoint: import the configuration of one of its clients",
  binary: "is not UTF-8 text",
  large: "is larger than 65536 bytes, so it is not a WireGuard configuration",
} as const;
export type FileKind = keyof typeof FILE_WORDS;

/** What files begin with, as hexadecimal digits, and `..` for any byte. */
const BEGINNINGS: readonly (readonly [RegExp, FileKind])[] = [
  [
    /^(89504e470d0a|ffd8ff|47494638|52494646.{8}57454250|49492a00|4d4d002a|.{8}66747970(6865|6d69|6176))/,
    "picture",
  ],
  [/^424d.{8}00000000/, "picture"],
  [/^25504446/, "pdf"],
  // RAR, 7z, gzip, xz, bzip2, zstd.
  [/^(526172211a07|377abcaf271c|1f8b08|fd377a585a00|425a68|28b52ffd)/, "archive"],
  [/^504b(0304|0506)/, "nested"],
  // ELF, Windows, macOS, and an installer of macOS.
  [/^(7f454c46|4d5a.{2}00|cffaedfe|cafebabe|78617221)/, "program"],
  [/^53514c69746520666f726d617420330/, "database"],
  [/^0005160[07]/, "resource"],
  [/^(d0cf11e0|7b5c727466)/, "document"],
  [/^62706c697374/, "mobileconfig"],
];
const BEGINNING_BYTES = 16;
/** In the first header of a tar archive, which has no beginning of its own (POSIX.1, pax). */
const TAR = { at: 257, word: "ustar" };

/** What the file is by its first bytes; null if it may be text. */
export function kindOfBytes(bytes: Uint8Array): FileKind | null {
  if (bytes.length === 0) return "empty";
  const begin = hexOf(bytes.subarray(0, BEGINNING_BYTES));
  const word = String.fromCharCode(...bytes.subarray(TAR.at, TAR.at + TAR.word.length));
  // The name before it is filled up with zeros, which no text has.
  if (word === TAR.word && bytes[TAR.at - 1] === 0) return "archive";
  const found = BEGINNINGS.find(([pattern]) => pattern.test(begin))?.[1];
  return found ?? (SIGNED.test(begin) && latin1(bytes).includes("PayloadType") ? "mobileconfig" : null);
}

/** A profile that is signed is text inside of a structure of its own (CMS, RFC 5652). */
const SIGNED = /^3082/;

function hexOf(bytes: Uint8Array): string {
  return [...bytes].map((byte) => byte.toString(16).padStart(2, "0")).join("");
}

/** Each byte as one character. */
export function latin1(bytes: Uint8Array): string {
  return new TextDecoder("latin1").decode(bytes);
}

const PEERS = /^[ \t]*\[Peer\]/gim;
const ENDPOINT = /^[ \t]*Endpoint[ \t]*=/im;

/** What each client file of OpenVPN has: a directive without a value, the server, or a certificate (openvpn(8)). */
const OPENVPN =
  /^[ \t]*(client|dev[ \t]+(tun|tap)\w*|remote[ \t]+\S+.*|<(ca|cert|key|tls-auth|tls-crypt)>)[ \t]*\r?$/m;
const ANY_SECTION = /^[ \t]*\[/m;
/** `\s` would be slow for a text of blanks that ends in something else. */
const JSON_BEGIN = /^(\{[\s]{0,99}["}]|\[[\s]{0,99}[{"])/;

/** Docker Compose and Clash; and Surge, whose files end in .conf too. */
const OF_OTHERS = /^((version|services|proxies):|\[(General|Proxy|Proxy Group)\])/m;

/** The first that fits. Texts are given without the white space at their ends. */
const TEXTS: readonly (readonly [FileKind, (text: string) => boolean])[] = [
  ["empty", (text) => text === ""],
  ["amnezia", (text) => /^vpn:\/\//i.test(text)],
  ["link", (text) => /^(wireguard|wg|awg|amneziawg):\/\//i.test(text)],
  [
    "proxy",
    (text) => /^(vless|vmess|ss|ssr|trojan|hysteria2?|hy2|tuic|naive\+https|socks5?):\/\//i.test(text),
  ],
  ["html", (text) => /^(<!--|<!doctype html|<html|<head|<body)/i.test(text)],
  [
    "mobileconfig",
    (text) => /^(<\?xml|<!doctype plist|<plist)/i.test(text) && /<plist|PayloadType/i.test(text),
  ],
  ["picture", (text) => /^(<\?xml[^>]*>\s{0,9})?<svg/i.test(text)],
  ["wgeasy", (text) => JSON_BEGIN.test(text) && /"clients"\s{0,9}:/.test(text) && /"privateKey"/.test(text)],
  ["servers", (text) => JSON_BEGIN.test(text) && /"(relays|hostname|pubkey|public_key)"\s{0,9}:/.test(text)],
  ["gluetun", (text) => /^[ \t]*(-[ \t]*)?["']?VPN_SERVICE_PROVIDER["']?[ \t]*[=:]/m.test(text)],
  ["data", (text) => JSON_BEGIN.test(text) || /^<\?xml/i.test(text) || OF_OTHERS.test(text)],
  ["shortcut", (text) => /^\[InternetShortcut\]/i.test(text)],
  ["networkd", (text) => /^[ \t]*\[(NetDev|WireGuard(Peer)?|Match)\]/m.test(text)],
  ["networkmanager", (text) => /^[ \t]*\[(connection|wireguard|wireguard-peer\.[^\]\n]*)\]/m.test(text)],
  ["router", (text) => /^(config (interface|wireguard_\S+|proto)\b|\/interface[ /]wireguard\b)/im.test(text)],
  [
    "vpn",
    (text) =>
      /^(conn|connections)[ \t]+\S/m.test(text) &&
      /^[ \t]*(keyexchange|ike|left|right|local|remote)\w*[ \t]*[={]/m.test(text),
  ],
  ["openvpn", (text) => OPENVPN.test(text) && !ANY_SECTION.test(text)],
  ["key", (text) => /^[A-Za-z0-9+/]{43}=$/.test(text)],
  ["server", isServer],
];

/** What a text is; null if it may be a WireGuard configuration. */
export function kindOfText(text: string): FileKind | null {
  const bare = text.replace(/^\uFEFF/, "").trim();
  return TEXTS.find(([, fits]) => fits(bare))?.[0] ?? null;
}

/** A server does not call its peers; a client's one peer has to have an Endpoint. */
function isServer(text: string): boolean {
  const peers = text.match(PEERS)?.length ?? 0;
  return peers > 0 && !ENDPOINT.test(text) && (peers > 1 || /^[ \t]*ListenPort[ \t]*=/im.test(text));
}
