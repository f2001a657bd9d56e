import { describe, expect, test } from "bun:test";
import { GatewayError } from "../../src/base/errors.ts";
import { parseConfig } from "../../src/wireguard/config.ts";
import { formatConfig } from "../../src/wireguard/config-text.ts";
import { publicKeyOf } from "../../src/wireguard/key.ts";
import type { Config } from "../../src/wireguard/schema.ts";
import { cidr, cidrs, ips } from "../fake/address.ts";

const PRIVATE = "yAnz5TF+lXXJte14tji3zlMNq+hd2rYUIgJBgB3fBmk=";
const PUBLIC = "xTIBA5rboUvnH4htodjb6e697QjLERt1NAB4mZqp8Dg=";
const PRESHARED = "FpCyhws9cxwWoV4xELtfJvjJN+zQVRPISllRWgeopVE=";
const ZERO = `${"A".repeat(43)}=`;

const PLAIN = `[Interface]
PrivateKey = ${PRIVATE}
Address = 10.64.0.2/32

[Peer]
PublicKey = ${PUBLIC}
AllowedIPs = 0.0.0.0/0, ::/0
Endpoint = 192.0.2.1:51820
`;

const PLAIN_CONFIG: Config = {
  interface: { privateKey: PRIVATE, addresses: [cidr("10.64.0.2/32")], dns: [], searchDomains: [] },
  peer: {
    publicKey: PUBLIC,
    endpoint: { host: "192.0.2.1", port: 51820 },
    allowedIps: cidrs("0.0.0.0/0", "::/0"),
  },
};

const FULL = `[Interface]
PrivateKey = ${PRIVATE}
Address = 10.64.0.2/24, fd00::2/64
DNS = 10.64.0.1, fd00::1, corp.example
MTU = 1380

[Peer]
PublicKey = ${PUBLIC}
PresharedKey = ${PRESHARED}
Endpoint = [2001:db8::1]:443
AllowedIPs = 10.0.0.0/8, ::/0
PersistentKeepalive = 25
`;

const FULL_CONFIG: Config = {
  interface: {
    privateKey: PRIVATE,
    addresses: cidrs("10.64.0.2/24", "fd00::2/64"),
    dns: ips("10.64.0.1", "fd00::1"),
    searchDomains: ["corp.example"],
    mtu: 1380,
  },
  peer: {
    publicKey: PUBLIC,
    presharedKey: PRESHARED,
    endpoint: { host: "2001:db8::1", port: 443 },
    allowedIps: cidrs("10.0.0.0/8", "::/0"),
    persistentKeepalive: 25,
  },
};

/** The result of PLAIN with this line at the end of a section. */
const inInterface = (line: string) => PLAIN.replace("\n\n", `\n${line}\n\n`);
const inPeer = (line: string) => `${PLAIN}${line}\n`;
const own = (line: string) => parseConfig(inInterface(line)).config.interface;
const peer = (line: string) => parseConfig(inPeer(line)).config.peer;

const LONG_LIST = "line 1031: AllowedIPs: has more than 1024 entries";

function messageFor(text: string): string {
  try {
    parseConfig(text);
  } catch (error) {
    if (error instanceof GatewayError && error.code === "bad_request") return error.message;
    throw error;
  }
  return "accepted";
}

describe("whole files", () => {
  test("a plain file is read", () => {
    expect(parseConfig(PLAIN)).toEqual({ config: PLAIN_CONFIG, warnings: [] });
  });

  test("a file with every key is read, and written as it was read", () => {
    expect(parseConfig(FULL).config).toEqual(FULL_CONFIG);
    expect(formatConfig(FULL_CONFIG)).toBe(FULL);
  });

  test("the order of sections and of keys does not matter", () => {
    const [first, second] = PLAIN.split("\n\n");
    expect(parseConfig(`${second}\n${first}\n`).config).toEqual(PLAIN_CONFIG);
  });

  test("a section that appears again is continued", () => {
    expect(parseConfig(`${PLAIN}[Interface]\nMTU = 1400\n`).config.interface.mtu).toBe(1400);
  });

  test("for a peer without keepalives, a warning says that the gateway sends them anyway", () => {
    const { warnings } = parseConfig(`${PLAIN.trimEnd()}\nPersistentKeepalive = off\n`);
    expect(warnings).toEqual([expect.stringContaining(": keepalives are sent anyway")]);
  });

  test("for a peer with longer keepalives than 25 s, a warning says that the gateway sends them more often", () => {
    const { config, warnings } = parseConfig(`${PLAIN.trimEnd()}\nPersistentKeepalive = 26\n`);
    expect(config.peer.persistentKeepalive).toBe(26);
    expect(warnings).toEqual([expect.stringContaining(": a keepalive is sent every 25 s")]);
    expect(parseConfig(`${PLAIN.trimEnd()}\nPersistentKeepalive = 25\n`).warnings).toEqual([]);
  });

  test("a peer without AllowedIPs carries everything, and a warning says so", () => {
    const { config, warnings } = parseConfig(PLAIN.replace(/AllowedIPs.*\n/, ""));
    expect(config).toEqual(PLAIN_CONFIG);
    expect(warnings).toEqual(["AllowedIPs is missing: 0.0.0.0/0, ::/0 is used"]);
  });
});

describe("spelling that does not matter", () => {
  test.each([
    ["CRLF line ends", PLAIN.replaceAll("\n", "\r\n")],
    ["no line end at the end", PLAIN.trimEnd()],
    ["a byte order mark", `\uFEFF${PLAIN}`],
    [
      "tabs and spaces around",
      PLAIN.replace(/^/gm, "\t ").replaceAll(" = ", "\t=\t ").replaceAll("\n", " \t\n"),
    ],
    ["no spaces", PLAIN.replaceAll(" ", "")],
    ["small letters", PLAIN.replace(/^(\[\w+\]|\w+)/gm, (name) => name.toLowerCase())],
    ["capital letters", PLAIN.replace(/^(\[\w+\]|\w+)/gm, (name) => name.toUpperCase())],
    ["comments", PLAIN.replaceAll("\n", " # = [x] \u2028 ; é\n").replace(/^/, "#first\n")],
    ["a list over several lines", PLAIN.replace(", ::/0", "\nallowedips = ::/0")],
    ["entries given twice", PLAIN.replace("::/0", "::/0, 0.0.0.0/0")],
  ])("%s", (_, text) => {
    expect(parseConfig(text)).toEqual({ config: PLAIN_CONFIG, warnings: [] });
  });
});

describe("values that are accepted", () => {
  test("a bare address is a prefix of itself alone", () => {
    expect(own("Address = 10.0.0.1, FD00:0::1").addresses).toEqual(
      cidrs("10.64.0.2/32", "10.0.0.1/32", "fd00::1/128"),
    );
  });

  test("addresses keep their host bits, allowed IPs lose them", () => {
    expect(own("Address = 10.1.2.3/8").addresses[1]).toBe(cidr("10.1.2.3/8"));
    expect(peer("AllowedIPs = 10.1.2.3/8").allowedIps[2]).toBe(cidr("10.0.0.0/8"));
  });

  test("the last of a repeated single value wins", () => {
    expect(own("MTU = 1300\nmtu = 1400").mtu).toBe(1400);
    expect(peer("Endpoint = vpn.example:1").endpoint).toEqual({ host: "vpn.example", port: 1 });
  });

  test.each([
    ["Endpoint = [2001:DB8:0::1]:65535", { host: "2001:db8::1", port: 65535 }],
    ["Endpoint = VPN.Example.COM:51820", { host: "vpn.example.com", port: 51820 }],
    ["Endpoint = does-not-resolve.invalid:1", { host: "does-not-resolve.invalid", port: 1 }],
  ])("%s", (line, endpoint) => {
    expect(peer(line).endpoint).toEqual(endpoint);
  });

  test.each([
    ["off", 0],
    ["OFF", 0],
    ["0", 0],
    ["65535", 65535],
  ])("PersistentKeepalive = %s", (value, seconds) => {
    expect(peer(`PersistentKeepalive = ${value}`).persistentKeepalive).toBe(seconds);
  });

  test("the MTU goes from 576 to 65535, and from 1280 with an IPv6 address", () => {
    expect([own("MTU = 576").mtu, own("MTU = 65535").mtu]).toEqual([576, 65535]);
    expect(own("Address = fd00::2\nMTU = 1280").mtu).toBe(1280);
    expect(messageFor(inInterface("MTU = 1279\nAddress = fd00::2"))).toBe(
      "line 4: MTU: the MTU must be at least 1280 if an IPv6 address is configured",
    );
  });

  test("search domains are separated from resolvers, and a warning says that they have no effect", () => {
    const { config, warnings } = parseConfig(
      inInterface("DNS = 9.9.9.9, Corp.Example\nDNS = 2620:FE::FE, lan"),
    );
    expect(config.interface.dns).toEqual(ips("9.9.9.9", "2620:fe::fe"));
    expect(config.interface.searchDomains).toEqual(["corp.example", "lan"]);
    expect(warnings).toEqual([
      "line 5: DNS: search domains have no effect; the gateway only redirects queries",
    ]);
  });

  test("ListenPort = 0 is WireGuard's word for any port", () => {
    const { config, warnings } = parseConfig(inInterface("ListenPort = 0"));
    expect(config).toEqual(PLAIN_CONFIG);
    expect(warnings).toEqual(["line 4: ListenPort: has no effect; the gateway sets this itself"]);
  });

  test("keys without effect are accepted with a warning for each", () => {
    const lines = ["SaveConfig = true", "Table = off", "FwMark = 0xca6c", "ListenPort = 51820"];
    const { config, warnings } = parseConfig(inInterface(lines.join("\n")));
    expect(config).toEqual(PLAIN_CONFIG);
    expect(warnings).toEqual([
      "line 4: SaveConfig: has no effect; the gateway sets this itself",
      "line 5: Table: has no effect; the gateway sets this itself",
      "line 6: FwMark: has no effect; the gateway sets this itself",
      "line 7: ListenPort: has no effect; the gateway sets this itself",
    ]);
  });
});

const ENDPOINT = "must be host:port, or [address]:port for IPv6";
const HOST = "the host must be an IPv4 address, [an IPv6 address] or a DNS name";
const BRACKETS = "brackets may only contain an IPv6 address without a zone";
const PORT = "the port must be a number from 1 to 65535, in plain digits";
const CIDR = "must be addresses in CIDR form (10.0.0.2/32, fd00::2/128), separated by commas";
const DNS = "must be IP addresses and search domains, separated by commas";
const KEY = "must be a WireGuard key: 44 characters of base64, and not all zero";
const MTU = "the MTU must be a number from 576 to 65535, in plain digits";
const INTERVAL = "the interval must be a number from 0 to 65535, in plain digits";

describe("values of [Peer] that are refused", () => {
  test.each([
    ["Endpoint", "192.0.2.1", ENDPOINT],
    ["Endpoint", "2001:db8::1:51820", ENDPOINT],
    ["Endpoint", "[2001:db8::1]51820", ENDPOINT],
    ["Endpoint", "[2001:db8::1]", ENDPOINT],
    ["Endpoint", "[[::1]]:1", ENDPOINT],
    ["Endpoint", "user@vpn.example:1", HOST],
    ["Endpoint", ":51820", HOST],
    ["Endpoint", "192.0.2:51820", HOST],
    ["Endpoint", "192.0.2.01:51820", HOST],
    ["Endpoint", "3221225985:51820", HOST],
    ["Endpoint", "192.0.2.256:51820", HOST],
    ["Endpoint", "vpn.1:51820", HOST],
    ["Endpoint", "192.0.2.0x1:51820", HOST],
    ["Endpoint", "-vpn.example:51820", HOST],
    ["Endpoint", "vpn_1.example:51820", HOST],
    ["Endpoint", "bücher.example:51820", HOST],
    ["Endpoint", "vpn .example:51820", HOST],
    ["Endpoint", "[192.0.2.1]:51820", BRACKETS],
    ["Endpoint", "[vpn.example]:51820", BRACKETS],
    ["Endpoint", "[fe80::1%eth0]:51820", BRACKETS],
    ["Endpoint", "[ ::1 ]:51820", BRACKETS],
    ["Endpoint", "[]:51820", BRACKETS],
    ["Endpoint", "192.0.2.1:0", PORT],
    ["Endpoint", "192.0.2.1:65536", PORT],
    ["Endpoint", "192.0.2.1:117356", PORT],
    ["Endpoint", "192.0.2.1:ntp", PORT],
    ["Endpoint", "192.0.2.1:051820", PORT],
    ["Endpoint", "192.0.2.1:+1", PORT],
    ["Endpoint", "192.0.2.1:0x1", PORT],
    ["Endpoint", "192.0.2.1:1.0", PORT],
    ["Endpoint", "192.0.2.1:\u0661", PORT],
    ["Endpoint", "192.0.2.1:", PORT],
    ["Endpoint", "", "is empty"],
    ["PublicKey", PUBLIC.slice(0, 43), KEY],
    ["PublicKey", `${PUBLIC.slice(0, 20)} ${PUBLIC.slice(20)}`, KEY],
    ["PublicKey", PUBLIC.replace("Dg=", "Dh="), KEY],
    ["PublicKey", ZERO, KEY],
    ["PublicKey", publicKeyOf(PRIVATE), "is this end's own public key, not the peer's"],
    ["PresharedKey", ZERO, KEY],
    ["PresharedKey", "(none)", KEY],
    ["AllowedIPs", "10.0.0.0/33", CIDR],
    ["AllowedIPs", "::/129", CIDR],
    ["AllowedIPs", "10.0.0.0/08", CIDR],
    ["AllowedIPs", "10.0.0.0/255.0.0.0", CIDR],
    ["AllowedIPs", "10/8", CIDR],
    ["AllowedIPs", "+10.0.0.0/8", CIDR],
    ["AllowedIPs", "everything", CIDR],
    ["AllowedIPs", "10.0.0.0/8 11.0.0.0/8", CIDR],
    ["AllowedIPs", "10.0.0.0/8,", "has an empty item"],
    ["AllowedIPs", ",", "has an empty item"],
    ["AllowedIPs", "", "is empty"],
    ["PersistentKeepalive", "-1", INTERVAL],
    ["PersistentKeepalive", "65536", INTERVAL],
    ["PersistentKeepalive", "025", INTERVAL],
    ["PersistentKeepalive", "25s", INTERVAL],
    ["PersistentKeepalive", "on", INTERVAL],
  ])("%s = %s", (name, value, what) => {
    expect(messageFor(inPeer(`${name} = ${value}`))).toBe(`line 9: ${name}: ${what}`);
  });
});

describe("values of [Interface] that are refused", () => {
  const HOST = "must be addresses that a host can have: no loopback, multicast or broadcast ones";

  test.each([
    ["PrivateKey", "", "is empty"],
    ["PrivateKey", ZERO, KEY],
    ["PrivateKey", `"${PRIVATE}"`, KEY],
    ["Address", "10.0.0.1/", CIDR],
    ["Address", "10.0.0.256", CIDR],
    ["Address", "fe80::1%eth0/64", CIDR],
    ["Address", "10.0.0.1,,10.0.0.2", "has an empty item"],
    // The firewall keeps packets for the tunnel's address from the cables: these would be DHCP, mDNS, a resolver.
    ["Address", "10.0.0.1/32, 255.255.255.255/32", HOST],
    ["Address", "224.0.0.251/32", HOST],
    ["Address", "127.0.0.53/32", HOST],
    ["Address", "0.0.0.0/32", HOST],
    ["Address", "::/128", HOST],
    ["Address", "::1/128", HOST],
    ["Address", "ff02::1/128", HOST],
    ["Address", "::ffff:127.0.0.1/128", HOST],
    ["DNS", "10.0.0", DNS],
    ["DNS", "10.0.0.1/32", DNS],
    ["DNS", "1.1.1.1 8.8.8.8", DNS],
    ["DNS", "1.1.1.1;8.8.8.8", DNS],
    ["DNS", "[2620:fe::fe]", DNS],
    ["DNS", "1.1.1.l1.1", DNS],
    ["DNS", "https://dns.example/", DNS],
    ["MTU", "575", MTU],
    ["MTU", "65536", MTU],
    ["MTU", "01420", MTU],
    ["MTU", "1420.0", MTU],
    ["MTU", "1e3", MTU],
    ["MTU", "auto", MTU],
    ["MTU", "1420 ; wide", MTU],
    ["ListenPort", "65536", PORT],
    ["ListenPort", "00", PORT],
    ["FwMark", "0x100000000", "must be off or a 32-bit number"],
    ["FwMark", "4294967296", "must be off or a 32-bit number"],
    ["SaveConfig", "yes", "must be true or false"],
    ["Table", "main; reboot", "must be off, auto or a routing table"],
    ["Table", "", "is empty"],
  ])("%s = %s", (name, value, what) => {
    expect(messageFor(inInterface(`${name} = ${value}`))).toBe(`line 4: ${name}: ${what}`);
  });

  test("a bad value is refused even if a good one follows", () => {
    expect(messageFor(inInterface("MTU = 1\nMTU = 1400"))).toBe(`line 4: MTU: ${MTU}`);
  });
});

describe("files that are refused", () => {
  const HOOK = "the gateway does not run commands from a configuration; nothing was imported";
  const NEITHER = "is neither a [Section] nor a key = value";

  test.each([
    ["PreUp", "true"],
    ["PostUp", "iptables -F"],
    ["predown", "true"],
    ["POSTDOWN", ""],
  ])("the hook %s", (name, value) => {
    expect(messageFor(inInterface(`${name} = ${value}`))).toBe(`line 4: ${name}: ${HOOK}`);
    expect(messageFor(inPeer(`${name} = ${value}`))).toBe(`line 9: ${name}: ${HOOK}`);
  });

  test.each([
    ["the client file of a provider", "client\r\ndev tun\r\nproto udp\r\nremote 203.0.113.11 1194\r\n"],
    ["one that begins with a comment and a certificate", "# Gothenburg\n<ca>\nMIIB=\n</ca>\n"],
    ["one with values that have an equals sign", "setenv CLIENT_CERT=0\nremote a.example 443 tcp\n"],
  ])("an OpenVPN file, by its name: %s", (_, text) => {
    expect(messageFor(text)).toBe(
      "config: is an OpenVPN file, and the gateway uses WireGuard: on your provider's website, choose WireGuard instead of OpenVPN and download that file",
    );
  });

  test.each([
    ["an unknown key", inInterface("Adress = 10.0.0.1"), "line 4: Adress: unknown key in [Interface]"],
    [
      "a key with a Kelvin sign",
      inPeer("Public\u212Aey = x"),
      "line 9: Public\u212Aey: unknown key in [Peer]",
    ],
    [
      "a long s for an s",
      inInterface("Addre\u017Fs = x"),
      "line 4: Addre\u017Fs: unknown key in [Interface]",
    ],
    [
      "a key with a space inside",
      inInterface("Private Key = x"),
      "line 4: this name: unknown key in [Interface]",
    ],
    [
      "a key of the other section",
      inInterface("Endpoint = a:1"),
      "line 4: Endpoint: belongs in [Peer], not in [Interface]",
    ],
    [
      "a key without effect in the other section",
      inPeer("Table = off"),
      "line 9: Table: unknown key in [Peer]",
    ],
    [
      "a key of Object's prototype",
      inInterface("constructor = 1"),
      "line 4: constructor: unknown key in [Interface]",
    ],
    ["__proto__", inInterface("__proto__ = 1"), "line 4: this name: unknown key in [Interface]"],
    ["a key without a name", inInterface("= 1"), "line 4: this name: unknown key in [Interface]"],
    ["a key before any section", `MTU = 1400\n${PLAIN}`, "line 1: MTU: comes before any [Section]"],
    ["an unknown section", `${PLAIN}[Peers]\n`, "line 9: [Peers]: unknown section"],
    [
      "a section with spaces inside",
      PLAIN.replace("[Peer]", "[ Peer ]"),
      "line 5: [this name]: unknown section",
    ],
    ["a section that does not close", PLAIN.replace("[Peer]", "[Peer"), `line 5: ${NEITHER}`],
    ["a semicolon as a comment", `; wg\n${PLAIN}`, `line 1: ${NEITHER}`],
    ["a word", inPeer("word"), `line 9: ${NEITHER}`],
    ["a second byte order mark", `\uFEFF\uFEFF${PLAIN}`, `line 1: ${NEITHER}`],
    [
      "a byte order mark further on",
      PLAIN.replace("Address", "\uFEFFAddress"),
      "line 3: this name: unknown key in [Interface]",
    ],
    ["a no-break space around a value", inInterface("MTU =\u00A01400"), `line 4: MTU: ${MTU}`],
    ["a NUL", inInterface("MTU = 1400\0"), "line 4: contains a NUL character"],
    ["a NUL in a comment", inInterface("# \0"), "line 4: contains a NUL character"],
    [
      "a lone CR",
      inInterface("MTU = 1400\rDNS = 1.1.1.1"),
      "line 4: contains a carriage return that does not end a line",
    ],
    [
      "a CR before CRLF",
      inInterface("MTU = 1400\r\r"),
      "line 4: contains a carriage return that does not end a line",
    ],
    [
      "a CR at the very end",
      `${PLAIN.trimEnd()}\r`,
      "line 8: contains a carriage return that does not end a line",
    ],
    ["Unicode's line separator", inInterface("MTU = 1400\u2028DNS = 1.1.1.1"), `line 4: MTU: ${MTU}`],
    [
      "several peers",
      `${PLAIN}[Peer]\n`,
      "line 9: [Peer]: there are several peers; the gateway uses exactly one",
    ],
    ["no peer", PLAIN.slice(0, PLAIN.indexOf("[Peer]")), "config: has no [Peer]"],
    ["no text", "", "config: has no [Peer]"],
    ["no PrivateKey", PLAIN.replace(/PrivateKey.*/, ""), "[Interface]: PrivateKey is missing"],
    ["no Address", PLAIN.replace(/Address.*/, ""), "[Interface]: Address is missing"],
    ["no PublicKey", PLAIN.replace(/PublicKey.*/, ""), "[Peer]: PublicKey is missing"],
    ["no Endpoint", PLAIN.replace(/Endpoint.*/, ""), "[Peer]: Endpoint is missing"],
    ["a list over many lines", inPeer("AllowedIPs = 10.0.0.0/8\n".repeat(1_023)), LONG_LIST],
    [
      "a line that is too long",
      inInterface(`#${"x".repeat(48 * 1024)}`),
      "line 4: is longer than 49152 characters",
    ],
    ["a text that is too long", PLAIN + "#\n".repeat(32 * 1024), "config: is longer than 65536 characters"],
  ])("%s", (_, text, message) => {
    expect(messageFor(text)).toBe(message);
  });
});

describe("a key in the wrong place", () => {
  test.each([
    ["alone on a line", inInterface(PRESHARED)],
    ["without its padding", inInterface(PRESHARED.slice(0, 43))],
    ["as a section", `[${PRESHARED}]`],
    ["as another value", inInterface(`DNS = ${PRESHARED}`)],
    ["as an endpoint", inPeer(`Endpoint = ${PRESHARED}`)],
    ["with a letter too many", inPeer(`PresharedKey = x${PRESHARED}`)],
    ["as a hook", inInterface(`PostUp = wg set ${PRESHARED}`)],
    ["as a table", inInterface(`Table = ${PRESHARED}`)],
  ])("a key %s is not repeated", (_, text) => {
    expect(messageFor(text)).not.toBe("accepted");
    expect(messageFor(text)).not.toContain(PRESHARED.slice(0, 8));
  });
});
