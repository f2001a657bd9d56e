import { describe, expect, test } from "bun:test";
import fc from "fast-check";
import { GatewayError } from "../../../src/base/errors.ts";
import { nameIn } from "../../../src/base/name.ts";
import { checked } from "../../../src/servers/lists/entry.ts";
import { readList } from "../../../src/servers/lists/list.ts";
import { ip } from "../../fake/address.ts";
import { slow } from "../../fast.ts";
import { PUBLIC } from "../example.ts";
import { fixture, lineOf } from "./fixture.ts";

const SERVER = {
  name: "se-1",
  label: "Mullvad",
  country: "Sweden",
  city: "Malmö",
  ipv4: ip("192.0.2.1"),
  port: 51820,
  publicKey: PUBLIC,
};
const OWN = {
  hostname: "se-1",
  country: "Sweden",
  city: "Malmö",
  ipv4: "192.0.2.1",
  port: 51820,
  public_key: PUBLIC,
};

const TEXTS = await Promise.all(
  ["mullvad", "mullvad-app", "gluetun-ivpn", "gluetun", "portcullis"].map(fixture),
);

test("the gateway's own format: a server without a label is Managed, one with a host name as its address is counted", async () => {
  const { format, servers, skipped } = readList(await fixture("portcullis"));
  expect([format, skipped]).toEqual(["Portcullis's own list", 1]);
  expect(servers.map(lineOf)).toEqual([
    "home-1 | Home | Sweden | Stockholm | 192.0.2.181:443 | 6CT4gS",
    "Köln 2 | Managed | Germany | Köln | 192.0.2.182:51820 | mhkFh2",
  ]);
});

test("a byte order mark and the order of the keys do not matter", () => {
  const backwards = Object.fromEntries(Object.entries(OWN).toReversed());
  expect(readList(`\uFEFF${JSON.stringify({ version: 7, servers: [backwards] })}`).servers).toHaveLength(1);
});

test("an own list may give the port for two hops, and a wrong one makes the entry malformed", () => {
  const portOf = (multihop_port: unknown) => {
    const { servers, skipped } = readList(
      JSON.stringify({ servers: [OWN, { ...OWN, hostname: "se-2", multihop_port }] }),
    );
    return skipped > 0 ? "malformed" : servers[1]?.multihopPort;
  };
  expect([3001, undefined].map(portOf)).toEqual([3001, undefined]);
  expect([0, 65536, "3001", 1.5, null].map(portOf)).toEqual(Array(5).fill("malformed"));
});

describe("what is refused", () => {
  const refusal = (text: string) => {
    try {
      return readList(text);
    } catch (error) {
      return error;
    }
  };

  test.each(["", "{", "<html>", "[1,]", "\uFEFF\uFEFF[]"])("%j is not JSON", (text) => {
    expect(refusal(text)).toMatchObject({ code: "bad_request", message: "the server list is not JSON" });
  });

  test.each(["null", "[]", "7", '"x"', "{}", '{"servers":{}}', '[{"hostname":"a"}]', '{"a":{"b":[]}}'])(
    "%s has none of the known formats",
    (text) => {
      const message = "the server list has none of the known formats";
      expect(refusal(text)).toMatchObject({ code: "bad_request", message: message });
    },
  );

  test.each([
    ["Portcullis's own list", { servers: [] }],
    ["Portcullis's own list", { servers: [{ ...OWN, port: 0 }] }],
    ["a gluetun file of one provider", { servers: [{ vpn: "openvpn", ips: ["192.0.2.1"] }] }],
    ["gluetun's servers.json", { version: 1, mullvad: { servers: [] } }],
    ["Mullvad's flat list", [{ hostname: "a", ipv4_addr_in: "192.0.2.1" }]],
    ["Mullvad's app list", { locations: {}, wireguard: { relays: [] } }],
  ])("%s without one usable entry: %j", (format, document) => {
    const message = `the server list (${format}) has no usable WireGuard server`;
    expect(refusal(JSON.stringify(document))).toMatchObject({ code: "unable", message: message });
  });

  test("more than 32 MiB, before anything is parsed", () => {
    const message = "the server list is larger than 32 MiB";
    expect(refusal("x".repeat(32 * 2 ** 20 + 1))).toMatchObject({ code: "unable", message: message });
    expect(refusal("é".repeat(16 * 2 ** 20 + 1))).toMatchObject({ code: "unable", message: message });
  });

  test("a short text that would take a lot of memory once parsed", () => {
    const message = "the server list contains more than 2000000 values";
    for (const text of [
      `[${"{},".repeat(1_000_000)}{}]`,
      "[".repeat(2_000_000),
      `[${"0,".repeat(2_000_000)}0]`,
    ]) {
      expect(refusal(text)).toMatchObject({ code: "unable", message: message });
    }
  });

  test("more than 50,000 servers", () => {
    const servers = Array.from({ length: 50_001 }, (_, n) => ({ ...OWN, hostname: `se-${n}` }));
    const message = "the server list (Portcullis's own list) has more than 50000 servers";
    expect(refusal(JSON.stringify({ servers }))).toMatchObject({ code: "unable", message: message });
    expect(readList(JSON.stringify({ servers: servers.slice(1) })).servers).toHaveLength(50_000);
  }, 180_000);
});

describe("the check that every entry passes", () => {
  test.each(["name", "label", "country", "city"] as const)("no %s contains hostile text", (field) => {
    const hostile = [
      "",
      " ",
      "a/b",
      "a\nb",
      "a\0b",
      "a\u001b[31mb",
      "a\u0085b",
      "a\u202Eb",
      "a\u200Bb",
      "a\u2028b",
      "a\uFEFFb",
      "\uD83D",
      "a\uE000b",
      "x".repeat(65),
    ];
    for (const text of hostile) expect(checked({ ...SERVER, [field]: text })).toBe("malformed");
  });

  test("a place is tidied, a name is accepted as it is or not at all", () => {
    expect(checked({ ...SERVER, city: " Malmo\u0308 " })).toEqual(SERVER);
    expect(checked({ ...SERVER, name: "se-1 " })).toBe("malformed");
    expect(checked({ ...SERVER, name: "Malmo\u0308" })).toBe("malformed");
  });

  test.each([
    "0.0.0.0",
    "127.0.0.1",
    "169.254.1.1",
    "224.0.0.1",
    "239.1.1.1",
    "240.0.0.1",
    "255.255.255.255",
  ])("%s is not a server's address", (ipv4) => {
    expect(checked({ ...SERVER, ipv4 })).toBe("malformed");
  });

  test.each([
    "1.1.1.1",
    "10.0.0.1",
    "126.0.0.1",
    "128.0.0.1",
    "169.253.1.1",
    "192.168.1.1",
    "223.255.255.254",
  ])("%s may be one", (ipv4) => {
    expect(checked({ ...SERVER, ipv4 })).toEqual({ ...SERVER, ipv4: ip(ipv4) });
  });

  test.each([
    { ipv4: "192.0.2.01" },
    { ipv4: "192.0.2.1 " },
    { ipv4: "vpn.example" },
    { port: 0 },
    { port: 65536 },
    { port: -1 },
    { publicKey: `${PUBLIC}\n` },
    { publicKey: PUBLIC.slice(1) },
    { publicKey: `${"A".repeat(43)}=` },
  ])("%j is malformed", (part) => {
    expect(checked({ ...SERVER, ...part })).toBe("malformed");
  });
});

describe("whatever a list contains", () => {
  /** Reads a text, and checks that it is refused with a message or that every server in it can be named and shown. */
  function expectSound(text: string): void {
    try {
      const { servers, skipped } = readList(text);
      expect(servers.length).toBeGreaterThan(0);
      expect(skipped).toBeGreaterThanOrEqual(0);
      expect(new Set(servers.map(({ name }) => name)).size).toBe(servers.length);
      for (const server of servers) {
        for (const field of ["name", "label", "country", "city"] as const) nameIn(field, server[field]);
        expect(checked(server)).toEqual(server);
      }
    } catch (error) {
      expect(error).toBeInstanceOf(GatewayError);
    }
  }

  slow.test(
    "random text and random JSON are refused with a message",
    () => {
      fc.assert(fc.property(fc.string(), expectSound));
      fc.assert(fc.property(fc.json(), expectSound), { numRuns: 1000 });
    },
    60_000,
  );

  slow.test(
    "a real list with anything inserted anywhere is read or refused with a message",
    () => {
      const scrap = fc.oneof(
        fc.jsonValue({ maxDepth: 2 }),
        fc.constantFrom(
          "__proto__",
          "a/b",
          "127.0.0.1",
          "192.0.2.1",
          PUBLIC,
          "wireguard",
          "",
          0,
          65536,
          null,
          [],
          {},
        ),
      );
      const list = fc.constantFrom(...TEXTS).map((text): unknown => JSON.parse(text));
      fc.assert(
        fc.property(
          list,
          fc.array(fc.tuple(fc.nat(), scrap), { minLength: 1, maxLength: 8 }),
          (document, scraps) => {
            for (const [at, value] of scraps) replaceSomewhere(document, at, value);
            expectSound(JSON.stringify(document));
          },
        ),
        { numRuns: 1000 },
      );
    },
    60_000,
  );

  test("a list that is cut or overwritten anywhere is read or refused with a message", () => {
    fc.assert(
      fc.property(fc.constantFrom(...TEXTS), fc.nat(), fc.nat(20), fc.string(), (text, at, length, scrap) => {
        const start = at % text.length;
        expectSound(text.slice(0, start));
        expectSound(text.slice(0, start) + scrap + text.slice(start + length));
      }),
    );
  }, 180_000);
});

/** Replaces one of the document's values, chosen by the number. */
function replaceSomewhere(document: unknown, at: number, value: unknown): void {
  const places: [Record<string, unknown>, string][] = [];
  const collect = (node: unknown) => {
    if (typeof node !== "object" || node === null) return;
    for (const key of Object.keys(node)) {
      places.push([node as Record<string, unknown>, key]);
      collect((node as Record<string, unknown>)[key]);
    }
  };
  collect(document);
  const [parent, key] = places[at % Math.max(1, places.length)] ?? [{}, ""];
  parent[key] = value;
}
