import type { ARCHIVE_WORDS } from "../shared/config-files.ts";
import type { FileKind } from "../shared/foreign-files.ts";
import { say } from "./language.ts";

/** The words of `FILE_WORDS`, as sentences in the reader's language. */
export const FILE_TEXTS: Readonly<Record<FileKind, string>> = {
  empty: say("It is empty: download or export it again."),
  picture: say(
    "It is not a text file, but a picture: scan its QR code with the WireGuard app of a phone, export the tunnel there, and import that file.",
  ),
  pdf: say(
    "It is not a text file, but a PDF: download the configuration itself from your provider, a .conf file.",
  ),
  archive: say(
    "It is not a text file, but an archive that is not a zip: unpack it, and import the .conf files in it.",
  ),
  nested: say(
    "It is not a text file, but an archive inside an archive: unpack it, and import the .conf files in it.",
  ),
  program: say(
    "It is not a text file, but a program or its installer: download the configuration from your provider, a .conf file.",
  ),
  database: say(
    "It is not a text file, but a database, such as that of wg-easy: download the configuration of one client there, a .conf file.",
  ),
  resource: say(
    "It is not a text file, but what macOS keeps beside one: import the file of the same name without ._ before it.",
  ),
  document: say(
    "It is a document of a word processor: save its text as plain text, in a file that ends in .conf.",
  ),
  openvpn: say(
    "It is an OpenVPN file, and the gateway uses WireGuard: on your provider’s website, choose WireGuard instead of OpenVPN and download that file.",
  ),
  vpn: say(
    "It is for another VPN than WireGuard, such as IPsec: on your provider’s website, choose WireGuard and download that file.",
  ),
  proxy: say(
    "It is a link to a proxy, and the gateway uses WireGuard: ask your provider for a WireGuard configuration, a .conf file.",
  ),
  amnezia: say(
    "It is a share link of AmneziaVPN: share the connection there in the format of AmneziaWG or WireGuard, and import that .conf file.",
  ),
  link: say(
    "It is a link for an app, and not a configuration: export the tunnel in the app that made the link, and import that .conf file.",
  ),
  mobileconfig: say(
    "It is a configuration profile for Apple devices: on a device that has it, export the tunnels in the WireGuard app, and import that zip.",
  ),
  networkd: say(
    "It is a file of systemd-networkd: import the .conf file from which it was made, or write one with its keys: PrivateKey and Address in [Interface], PublicKey, Endpoint and AllowedIPs in [Peer].",
  ),
  networkmanager: say(
    "It is a connection of NetworkManager: import the .conf file from which it was made, or write one with its keys: PrivateKey and Address in [Interface], PublicKey, Endpoint and AllowedIPs in [Peer].",
  ),
  router: say(
    "It is a configuration of a router, such as one with OpenWrt or RouterOS: import the .conf file from which it was made, or write one with its keys: PrivateKey and Address in [Interface], PublicKey, Endpoint and AllowedIPs in [Peer].",
  ),
  wgeasy: say(
    "It is the list of clients of wg-easy: the command portcullis import on the gateway lets them come in from outside, and writes a new file for each.",
  ),
  gluetun: say(
    "It is a file of gluetun: the command portcullis import on the gateway shows the commands that do what it asks for.",
  ),
  servers: say(
    "It is a list of servers, without a private key: log in with sudo portcullis account login, or make a WireGuard configuration on your provider’s website and import that.",
  ),
  data: say(
    "It is a file of another program: export a WireGuard configuration there, and import that .conf file.",
  ),
  html: say(
    "It is a web page, such as a login page that was saved instead of the file: log in on your provider’s website, and download the file again.",
  ),
  shortcut: say("It is a shortcut to a web page: open it, and download the configuration there."),
  key: say(
    "It is a key alone: a WireGuard configuration has [Interface] and [Peer]; download it from your provider.",
  ),
  server: say(
    "It is the configuration of a WireGuard server, whose peers have no Endpoint: import the configuration of one of its clients.",
  ),
  binary: say("It is not UTF-8 text."),
  large: say("It is larger than 65536 bytes, so it is not a WireGuard configuration."),
};

/** The same of archives. */
export const ARCHIVE_TEXTS: Readonly<Record<keyof typeof ARCHIVE_WORDS, string>> = {
  openvpn: say(
    "The archive holds OpenVPN files, and the gateway uses WireGuard: on your provider’s website, choose WireGuard instead of OpenVPN and download that archive.",
  ),
  none: say("The archive holds no .conf files."),
};
