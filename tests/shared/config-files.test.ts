import { expect, test } from "bun:test";
import { gzipSync } from "node:zlib";
import { ARCHIVE_TEXTS, FILE_TEXTS } from "../../src/dashboard/file-texts.ts";
import {
  ARCHIVE_WORDS,
  configIn,
  MAX_CONFIG_BYTES,
  MAX_SERVERS,
  packedConfigs,
} from "../../src/shared/config-files.ts";
import { FILE_WORDS, type FileKind, kindOfText } from "../../src/shared/foreign-files.ts";
import { parseConfig } from "../../src/wireguard/config.ts";
import { CONFIG } from "../cli/archives.ts";
import { slow } from "../fast.ts";

const utf8 = (text: string) => new TextEncoder().encode(text);
const bytes = (hex: string, rest = "") =>
  Buffer.concat([Buffer.from(hex.replaceAll(" ", ""), "hex"), utf8(rest)]);
const kindOf = (file: Uint8Array) => {
  const found = configIn(file);
  return "kind" in found ? found.kind : null;
};

/** Each little-endian, or the other way round. */
function wide(text: string, isBig: boolean): Uint8Array {
  const little = Buffer.from(text, "utf16le");
  return isBig ? little.swap16() : little;
}

const KEY = "yAnz5TF+lXXJte14tji3zlMNq+hd2rYUIgJBgB3fBmk=";
const PROFILE = `<?xml version="1.0" encoding="UTF-8"?>
<!DOCTYPE plist PUBLIC "-//Apple//DTD PLIST 1.0//EN" "http://www.apple.com/DTDs/PropertyList-1.0.dtd">
<plist version="1.0"><dict><key>PayloadType</key><string>Configuration</string></dict></plist>`;

const FOREIGN: readonly (readonly [what: string, file: Uint8Array, kind: FileKind])[] = [
  ["nothing", utf8(""), "empty"],
  ["blanks", utf8(" \r\n\n\t"), "empty"],
  ["a photo", bytes("ffd8ffe000104a464946"), "picture"],
  ["a screenshot", bytes("89504e470d0a1a0a0000000d49484452"), "picture"],
  ["an iPhone's photo", bytes("0000001866747970 68656963"), "picture"],
  ["a drawn QR code", utf8(`<?xml version="1.0"?>\n<svg xmlns="http://www.w3.org/2000/svg"/>`), "picture"],
  ["a PDF", utf8("%PDF-1.7\n"), "pdf"],
  ["a RAR archive", bytes("526172211a0701 00"), "archive"],
  ["a 7z archive", bytes("377abcaf271c0004"), "archive"],
  ["a tar.gz", gzipSync(CONFIG), "archive"],
  [
    "a tar",
    Buffer.concat([Buffer.concat([utf8("wg0.conf"), Buffer.alloc(249)]), utf8("ustar\0"), Buffer.alloc(249)]),
    "archive",
  ],
  ["an archive in an archive", bytes("504b0304", CONFIG), "nested"],
  ["an installer", bytes("4d5a90000300"), "program"],
  ["the database of wg-easy 15", utf8("SQLite format 3\0"), "database"],
  ["what macOS keeps beside a file", bytes("000516070002", "Mac OS X"), "resource"],
  ["a rich text", utf8("{\\rtf1\\ansi [Interface]}"), "document"],
  ["OpenVPN", utf8("client\ndev tun\nremote 203.0.113.11 1194\n"), "openvpn"],
  ["OpenVPN with a certificate", utf8("<ca>\n-----BEGIN CERTIFICATE-----\n"), "openvpn"],
  ["strongSwan", utf8("conn home\n    keyexchange=ikev2\n    left=%any\n"), "vpn"],
  ["VLESS", utf8("vless://00000000-0000-4000-8000-000000000000@203.0.113.11:443#home\n"), "proxy"],
  ["Amnezia", utf8("vpn://AAAHeXicvVZtb9s2EP6eX0EI_bAB\n"), "amnezia"],
  ["a link", utf8(`wireguard://${encodeURIComponent(KEY)}@203.0.113.11:51820?address=10.0.0.2%2F32`), "link"],
  ["a profile", utf8(PROFILE), "mobileconfig"],
  ["a binary profile", utf8("bplist00"), "mobileconfig"],
  ["a signed profile", bytes("30820abc06092a864886f70d010702a0ff", PROFILE), "mobileconfig"],
  [
    "networkd's device",
    utf8(`[NetDev]\nName=wg0\nKind=wireguard\n\n[WireGuard]\nPrivateKey=${KEY}\n`),
    "networkd",
  ],
  ["networkd's network", utf8("[Match]\nName=wg0\n\n[Network]\nAddress=10.0.0.2/32\n"), "networkd"],
  [
    "NetworkManager",
    utf8(
      `[connection]\nid=wg0\ntype=wireguard\n\n[wireguard]\nprivate-key=${KEY}\n\n[wireguard-peer.${KEY}]\n`,
    ),
    "networkmanager",
  ],
  [
    "OpenWrt",
    utf8(`config interface 'wg0'\n\toption proto 'wireguard'\n\toption private_key '${KEY}'\n`),
    "router",
  ],
  ["RouterOS", utf8("/interface wireguard\nadd listen-port=51820 name=wg0\n"), "router"],
  [
    "wg-easy",
    utf8(
      JSON.stringify(
        { server: { privateKey: KEY, address: "10.8.0.1" }, clients: { one: { name: "phone" } } },
        null,
        2,
      ),
    ),
    "wgeasy",
  ],
  ["Mullvad's list", utf8(JSON.stringify([{ hostname: "se-got-wg-001", pubkey: KEY }])), "servers"],
  [
    "Mullvad's list, which is long",
    utf8(`{"wireguard":{"relays":[${`{"hostname":"a"},`.repeat(9_000)}`),
    "servers",
  ],
  ["sing-box", utf8(`{\n  "outbounds": []\n}`), "data"],
  ["Docker Compose", utf8("services:\n  gluetun:\n    image: qmcgaw/gluetun\n"), "data"],
  [
    "gluetun's Compose file",
    utf8("services:\n  gluetun:\n    environment:\n      - VPN_SERVICE_PROVIDER=mullvad\n"),
    "gluetun",
  ],
  ["gluetun's settings", utf8("VPN_SERVICE_PROVIDER=mullvad\nVPN_TYPE=wireguard\n"), "gluetun"],
  ["Surge", utf8("[General]\nloglevel = notify\n\n[Proxy]\nhome = wireguard, section-name=HOME\n"), "data"],
  ["a login page", utf8("\n<!DOCTYPE html>\n<html><body>Log in</body></html>"), "html"],
  ["a shortcut", utf8("[InternetShortcut]\r\nURL=https://vpn.example/\r\n"), "shortcut"],
  ["a key", utf8(`${KEY}\n`), "key"],
  [
    "a server's configuration",
    utf8(
      `[Interface]\nPrivateKey = ${KEY}\nAddress = 10.8.0.1/24\nListenPort = 51820\n\n` +
        `[Peer]\n# phone\nPublicKey = ${KEY}\nAllowedIPs = 10.8.0.2/32\n`.repeat(2),
    ),
    "server",
  ],
  ["noise", bytes("c3280102"), "binary"],
  ["a long text", utf8("#".repeat(MAX_CONFIG_BYTES + 1)), "large"],
];

test.each(FOREIGN)("%s is named for what it is", (_, file, kind) => {
  expect(kindOf(file)).toBe(kind);
});

test("a text is named in the same way by the interface", () => {
  const isText = (kind: FileKind) => !/not a text|UTF-8|larger|empty/.test(FILE_WORDS[kind]);
  const texts = FOREIGN.filter(([what, , kind]) => isText(kind) && !/binary|signed|rich|long/.test(what));
  expect(texts.length).toBeGreaterThan(15);
  for (const [what, file, kind] of texts) {
    const read = () => parseConfig(new TextDecoder().decode(file));
    expect(read, what).toThrow(`config: ${FILE_WORDS[kind]}`);
  }
});

test("a configuration is read in each encoding that Windows writes, whatever its comments are in", () => {
  const { config } = parseConfig(CONFIG);
  const windows = CONFIG.replaceAll("\n", "\r\n");
  const files = [
    utf8(CONFIG),
    utf8(`\uFEFF${windows}`),
    wide(`\uFEFF${windows}`, false),
    wide(`\uFEFF${windows}`, true),
    wide(windows, false),
    wide(windows, true),
    Buffer.from(`# Büro, Gebäude 2 – Köln\r\n${windows}`, "latin1"),
    // "Office" in Shift_JIS, GBK and Windows-1251.
    bytes("23208e968ebb8fea0d0a", windows),
    bytes("2320b0ecb9abcad20d0a", windows),
    bytes("2320ceF4e8f10d0a", windows),
  ];
  for (const file of files) {
    const found = configIn(file);
    expect("text" in found ? parseConfig(found.text).config : found.kind).toEqual(config);
  }
});

const entry = (name: string) => ({ name, open: async () => utf8(CONFIG) });

test("names that an archive has in several folders are told apart by as many folders as it takes", () => {
  const paths = [
    ...["wg0.conf", "Norway/wg0.conf", "Sweden\\wg0.conf", "a/Oslo/wg0.conf", "b/Oslo/wg0.conf"],
    ...["Norway/no-1.conf", "caf\u00e9/x.conf", "cafe\u0301/x.conf"],
  ];
  expect(packedConfigs(paths.map(entry)).map(({ name }) => name)).toEqual([
    ...["wg0", "Norway-wg0", "Sweden-wg0", "a-Oslo-wg0", "b-Oslo-wg0"],
    ...["no-1", "caf\u00e9-x", "caf\u00e9-x"],
  ]);
});

slow.test(
  "no archive takes long to be looked at, however many files of one name it has, or folders for each",
  () => {
    const paths = Array.from({ length: 65_535 }, (_, number) => `${"a/".repeat(400)}${number}/wg0.conf`);
    const start = process.cpuUsage();
    const found = packedConfigs(paths.map(entry));
    expect(process.cpuUsage(start).user).toBeLessThan(5_000_000);
    expect(found.slice(0, 2).map(({ name }) => name)).toEqual(["0-wg0", "1-wg0"]);
    expect(found.length).toBeGreaterThan(MAX_SERVERS);
  },
);

test("what macOS and Windows add to an archive is left out", () => {
  const paths = [
    ...["x.conf", "__MACOSX/._x.conf", "folder/._x.conf", "._x.conf", ".DS_Store", "folder/.DS_Store"],
    ...["Thumbs.db", "desktop.ini", "folder/", ".conf"],
  ];
  expect(packedConfigs(paths.map(entry)).map(({ path }) => path)).toEqual(["x.conf"]);
});

test("the page says what the command line says", () => {
  const plain = (text: string) => text.replaceAll("’", "'");
  for (const [kind, words] of Object.entries(FILE_WORDS))
    expect(plain(FILE_TEXTS[kind as FileKind])).toBe(`It ${words}.`);
  for (const [kind, words] of Object.entries(ARCHIVE_WORDS))
    expect(plain(ARCHIVE_TEXTS[kind as keyof typeof ARCHIVE_WORDS]).toLowerCase()).toBe(
      `${words}.`.toLowerCase(),
    );
});

test("no text takes long to be looked at, whatever is in it", () => {
  const long = (text: string) =>
    text.repeat(Math.ceil(MAX_CONFIG_BYTES / text.length)).slice(0, MAX_CONFIG_BYTES - 2);
  const ends = ["\rb", "!", ""];
  const begins = [
    ...["a", " ", "\t", "\n", "[", "remote a", "remote  ", "dev tun ", "config wireguard_a", "conn a\nleft "],
    ...[
      "[wireguard-peer.",
      "[wireguard-peer.\n",
      "conn a\n",
      "[Peer",
      "[Peer]\n",
      "Endpoint ",
      '{"',
      '{"clients" ',
      "<?xml ",
      "ListenPort ",
    ],
  ];
  const texts = begins.flatMap((begin) =>
    ends.flatMap((end) => [
      `${long(begin)}${end}`,
      `${begin}${long(" ")}${end}`,
      `${begin}${long("a")}${end}`,
    ]),
  );
  kindOfText("");
  const times = texts.map((text) => {
    // Of the processor: a busy machine does other things meanwhile.
    const start = process.cpuUsage();
    kindOfText(text);
    return { ms: process.cpuUsage(start).user / 1_000, begin: text.slice(0, 20) };
  });
  expect(times.filter(({ ms }) => ms > 20)).toEqual([]);
});
