import { describe, expect, test } from "bun:test";
import { CUSTOM_EXAMPLE } from "../../src/http/own-servers.ts";
import { customServer } from "../../src/servers/custom.ts";
import { amneziaFrom, formOf } from "../../src/wireguard/amnezia.ts";
import { parseConfig } from "../../src/wireguard/config.ts";
import { formatConfig } from "../../src/wireguard/config-text.ts";

const file = (...lines: string[]) => `[Interface]
PrivateKey = ${CUSTOM_EXAMPLE.private_key}
Address = 10.64.0.22/32
${lines.join("\n")}
[Peer]
PublicKey = ${CUSTOM_EXAMPLE.public_key}
AllowedIPs = 0.0.0.0/0
Endpoint = 203.0.113.12:51820
`;
const settingsOf = (...lines: string[]) => parseConfig(file(...lines)).config.interface.amnezia;

function messageFor(...lines: string[]): string {
  try {
    parseConfig(file(...lines));
  } catch (error) {
    return (error as Error).message;
  }
  return "accepted";
}

test("a file's settings are read, and written and read again they are the same", () => {
  const lines = [
    ...[
      "Jc = 4",
      "jmin = 40",
      "JMAX = 70",
      "S1 = 15",
      "S2 = 72",
      "S3 = 0",
      "S4 = 140",
      "H1 = 5-10",
      "H2 = 11",
    ],
    ...[
      "H3 = 12-12",
      "H4 = 4294967295",
      "I1 = <b 0xC0FFEE> <r 12><rc  3>",
      "I2 = <rd 4><t><c>",
      "I5 = <b 01>",
    ],
  ];
  const { config } = parseConfig(file(...lines));
  expect(config.interface.amnezia).toEqual({
    ...{ jc: 4, jmin: 40, jmax: 70, s1: 15, s2: 72, s3: 0, s4: 140 },
    ...{ h1: "5-10", h2: "11", h3: "12", h4: "4294967295" },
    ...{ i1: "<b 0xc0ffee><r 12><rc 3>", i2: "<rd 4><t><c>", i5: "<b 0x01>" },
  });
  expect(parseConfig(formatConfig(config)).config).toEqual(config);
  expect(formOf(config.interface.amnezia ?? {})).toEqual({
    junk: { count: 4, least: 40, most: 70 },
    padding: [15, 72, 0, 140],
    headers: [
      [5, 10],
      [11, 11],
      [12, 12],
      [4_294_967_295, 4_294_967_295],
    ],
    packets: [
      [
        { kind: "bytes", hex: "c0ffee" },
        { kind: "random", count: 12 },
        { kind: "letters", count: 3 },
      ],
      [{ kind: "digits", count: 4 }, { kind: "time" }, { kind: "counter" }],
      [{ kind: "bytes", hex: "01" }],
    ],
  });
});

test("what a file does not say is as in WireGuard, and a file without all of it has no settings", () => {
  expect(settingsOf()).toBeUndefined();
  expect(formOf(settingsOf("S1 = 9") ?? {})).toEqual({
    junk: { count: 0, least: 0, most: 0 },
    padding: [9, 0, 0, 0],
    headers: [
      [1, 1],
      [2, 2],
      [3, 3],
      [4, 4],
    ],
    packets: [],
  });
});

test("a request has the same settings, by the same rules", () => {
  const settings = { jc: 4, jmin: 40, jmax: 70, s1: 15, s4: 7, h1: 99, h2: "5-10", i1: "<r 9>" };
  expect(customServer({ ...CUSTOM_EXAMPLE, ...settings }).config.interface.amnezia).toEqual({
    ...settings,
    h1: "99",
  });
  expect(() => customServer({ ...CUSTOM_EXAMPLE, h1: 7, h4: "5-10" })).toThrow(
    "h4: has a number of H1: their messages could not be told apart",
  );
  expect(() => customServer({ ...CUSTOM_EXAMPLE, jc: 1 })).toThrow(
    "jc: needs Jmin, the least length of these packets",
  );
});

describe("bounds", () => {
  test.each([
    ["Jc", 0, 128],
    ["Jmin", 0, 1280],
    ["Jmax", 0, 1280],
    ["S1", 0, 1279],
    ["S2", 0, 1279],
    ["S3", 0, 1279],
    ["S4", 0, 140],
    ["H1", 5, 4_294_967_295],
  ])("%s is from %i to %i", (key, least, most) => {
    const more = key === "Jc" ? ["Jmin = 1", "Jmax = 2"] : [];
    const at = (value: string | number) => messageFor(`${key} = ${value}`, ...more);
    expect([at(least), at(most)]).toEqual(["accepted", "accepted"]);
    for (const wrong of [most + 1, -1, `0${most}`, "x", "1.5", "0x5"])
      expect(at(wrong)).toStartWith(`line 4: ${key}: `);
  });

  test("H is from 1, and a range is not empty and has two ends", () => {
    expect(messageFor("H1 = 0")).toBe(
      "line 4: H1: it, and each end of a range such as 5-10, must be a number from 1 to 4294967295, in plain digits",
    );
    for (const wrong of ["10-5", "5-6-7"])
      expect(messageFor(`H1 = ${wrong}`)).toBe("line 4: H1: must be a number, or a range such as 5-10");
    for (const wrong of ["5-", "-5", "5 - 6"])
      expect(messageFor(`H1 = ${wrong}`)).toStartWith("line 4: H1: ");
  });

  test("settings that do not fit each other name one of them", () => {
    expect(messageFor("Jc = 3", "Jmax = 9")).toBe(
      "line 4: Jc: needs Jmin, the least length of these packets",
    );
    expect(messageFor("Jc = 3", "Jmin = 9")).toBe(
      "line 4: Jc: needs Jmax, the greatest length of these packets",
    );
    expect(messageFor("Jmin = 9", "Jmax = 8")).toBe("line 5: Jmax: must not be less than Jmin");
    expect(messageFor("S1 = 10", "S2 = 66")).toBe(
      "line 5: S2: must not be S1 + 56: both messages of a handshake would be of the same length",
    );
    expect(messageFor("H1 = 5-9", "H3 = 9-12")).toBe(
      "line 5: H3: has a number of H1: their messages could not be told apart",
    );
    // The one that is missing is WireGuard's.
    expect(messageFor("H1 = 4")).toBe(
      "line 4: H1: has a number of H4: their messages could not be told apart",
    );
  });

  test("a packet is of known tags, and fits a cable", () => {
    const text = "line 4: I1: must be tags such as <b 0x0102>, <r 10>, <rc 10>, <rd 10>, <t> and <c>";
    for (const wrong of [
      "x",
      "<b 0x1>",
      "<b xy>",
      "<r 00>",
      "<r -1>",
      "<q>",
      "<t",
      "<r 1>x",
      "<b 0x>",
      "<d>",
    ])
      expect(messageFor(`I1 = ${wrong}`)).toBe(text);
    expect(messageFor("I1 = <r 1452>")).toBe("accepted");
    expect(messageFor("I1 = <r 1449><t>")).toBe("line 4: I1: is a packet of more than 1452 bytes");
    expect(messageFor(`I1 = ${"<t>".repeat(1_400)}`)).toBe("line 4: I1: is longer than 4096 characters");
  });

  test("a tag of no bytes is read and left out, but a packet has some", () => {
    expect(settingsOf("I1 = <r 0><b 0x01><rc 0>", "I2 = <t><rd 0>")).toEqual({ i1: "<b 0x01>", i2: "<t>" });
    expect(messageFor("I1 = <r 0>")).toBe("line 4: I1: is empty");
  });

  test("they belong to the interface", () => {
    const text = file().replace("[Peer]\n", "[Peer]\nJc = 0\n");
    expect(() => parseConfig(text)).toThrow("Jc: belongs in [Interface], not in [Peer]");
  });
});

test("a peer's AdvancedSecurity is read, and warned of", () => {
  const withIt = (value: string) =>
    file("S1 = 9").replace("[Peer]\n", `[Peer]\nAdvancedSecurity = ${value}\n`);
  for (const value of ["on", "off", "1"]) {
    const { config, warnings } = parseConfig(withIt(value));
    expect(config.interface.amnezia).toEqual({ s1: 9 });
    expect(warnings).toEqual(["line 6: AdvancedSecurity: has no effect; the gateway sets this itself"]);
  }
  expect(() => parseConfig(withIt("perhaps"))).toThrow("line 6: AdvancedSecurity: must be on or off");
  expect(messageFor("AdvancedSecurity = on")).toBe("line 4: AdvancedSecurity: unknown key in [Interface]");
});

test.each(["HeaderProtectionKey", "ContentPaddingAddition", "RandomTrailers", "RekeyAfterTime"])(
  "%s is refused with what it needs",
  (key) => {
    expect(messageFor(`${key} = 5`)).toBe(
      `line 4: ${key}: needs version 3 of AmneziaWG, which is in the package amneziawg and not in the gateway; ask for a configuration of version 2 or 1`,
    );
  },
);

test.each(["J1", "J3", "Itime"])("%s, which is gone, is refused", (key) => {
  expect(messageFor(`${key} = 5`)).toBe(
    `line 4: ${key}: no version of AmneziaWG in use has this key; ask for a newer configuration`,
  );
});

test("what the app writes as empty is not given, in a file and by itself", () => {
  const lines = ["Jc = 4", "Jmin = 40", "Jmax = 70", "H1 =", "I1 = <b 0x01>", "I2 = ", "I3 = ", "I5 ="];
  const { config } = parseConfig(file(...lines));
  expect(config.interface.amnezia).toEqual({ jc: 4, jmin: 40, jmax: 70, i1: "<b 0x01>" });
  const fields = { i1: [{ text: "", where: "i1" }], i2: [{ text: "  ", where: "i2" }] };
  expect(amneziaFrom(fields, {} as Parameters<typeof amneziaFrom>[1])).toBeUndefined();
});
