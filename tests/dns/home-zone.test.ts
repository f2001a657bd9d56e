import { expect, test } from "bun:test";
import { domainToASCII } from "node:url";
import { HomeNames, labelOf, type NamedDevice } from "../../src/dns/home-names.ts";
import { HomeZone } from "../../src/dns/home-zone.ts";
import { questionIn } from "../../src/dns/question.ts";
import { cidrs, ips } from "../fake/address.ts";
import { decoded, query } from "./messages.ts";

const OWN = ips("192.168.7.1", "fd00:7::1");

function device(id: string, name: string, addresses: string[], named = true): NamedDevice {
  return { id, name, named, addresses, fixed_address: null };
}

function zoneOf(...devices: NamedDevice[]) {
  const world = { now: 0, devices, looks: 0 };
  const zone = new HomeZone({
    clock: { monotonic: () => world.now },
    devices: async () => {
      world.looks += 1;
      return world.devices;
    },
    own: () => OWN,
    home: () => cidrs("192.168.7.0/24", "fd00:7::/64", "203.0.113.0/28"),
  });
  /** The data of the answer, or its code; null if the question is for others. */
  const ask = async (name: string, type: "A" | "AAAA" | "TXT" | "PTR" = "A") => {
    const question = questionIn(query(name, type));
    const answer = question && (await zone.answer(question));
    if (answer === null) return null;
    const { rcode, answers = [], authorities = [] } = decoded(answer);
    if (answers.length === 0) expect(authorities.map((each) => each.type)).toEqual(["SOA"]);
    return answers.length === 0
      ? rcode
      : answers.map((each) => String("data" in each && each.data)).join(" ");
  };
  return { world, ask };
}

test("a device is found by its name, with and without the zone, and by its addresses", async () => {
  const { ask } = zoneOf(device("1", "Anna’s iPad", ["192.168.7.20", "fd00:7::20", "fe80::20"]));
  expect(await ask("annas-ipad.home.arpa")).toBe("192.168.7.20");
  expect(await ask("Annas-iPad.Home.Arpa", "AAAA")).toBe("fd00:7::20");
  expect(await ask("annas-ipad")).toBe("192.168.7.20");
  expect(await ask("annas-ipad.home.arpa", "TXT")).toBe("NOERROR");
  expect(await ask("20.7.168.192.in-addr.arpa", "PTR")).toBe("annas-ipad.home.arpa");
  expect(await ask(reversed("fd000007000000000000000000000020"), "PTR")).toBe("annas-ipad.home.arpa");
});

test("the gateway has a name too, and nobody else has it", async () => {
  const { ask } = zoneOf(device("1", "Portcullis", ["192.168.7.20"]));
  expect(await ask("portcullis.home.arpa")).toBe("192.168.7.1");
  expect(await ask("portcullis", "AAAA")).toBe("fd00:7::1");
  expect(await ask("1.7.168.192.in-addr.arpa", "PTR")).toBe("portcullis.home.arpa");
  expect(await ask("20.7.168.192.in-addr.arpa", "PTR")).toBe("NXDOMAIN");
});

test("what is not known in the home is asked nowhere else, and the rest is left to others", async () => {
  const { ask } = zoneOf(device("1", "tv", ["192.168.7.20"]));
  for (const name of ["nas.home.arpa", "x.tv.home.arpa"]) expect(await ask(name)).toBe("NXDOMAIN");
  expect(await ask("home.arpa", "TXT")).toBe("NOERROR");
  // Public addresses of the home as well, and what is below an address.
  for (const name of ["9.7.168.192", "lb._dns-sd._udp.0.7.168.192", "3.113.0.203"])
    expect(await ask(`${name}.in-addr.arpa`, "PTR")).toBe("NXDOMAIN");
  for (const name of ["example.com", "nas", "home.arpa.example", "1.2.0.192.in-addr.arpa", "x.y.ip6.arpa"])
    expect(await ask(name, "PTR")).toBeNull();
});

test("names that programs look for blindly are those of no device", async () => {
  const { ask } = zoneOf(
    device("1", "WPAD", ["192.168.7.20"]),
    device("2", "isatap", ["192.168.7.21"], false),
  );
  for (const label of ["wpad", "isatap", "localhost"])
    expect(await ask(`${label}.home.arpa`)).toBe("NXDOMAIN");
});

test("nobody takes over the name of another device by telling it", async () => {
  const [nas, thief] = [
    device("2", "nas", ["192.168.7.20"], false),
    device("1", "NAS", ["192.168.7.66"], false),
  ];
  const { world, ask } = zoneOf(nas);
  expect(await ask("nas.home.arpa")).toBe("192.168.7.20");
  [world.devices, world.now] = [[thief, nas], 2_000];
  expect(await ask("nas.home.arpa")).toBe("192.168.7.20");
  // A person decides.
  [world.devices, world.now] = [[nas, { ...thief, named: true }], 4_000];
  expect(await ask("nas.home.arpa")).toBe("192.168.7.66");
});

test("many questions share one look", async () => {
  const { world, ask } = zoneOf(device("1", "tv", ["192.168.7.20"]));
  await Promise.all([ask("tv.home.arpa"), ask("tv.home.arpa"), ask("x.home.arpa")]);
  world.now = 1_999;
  await ask("tv.home.arpa");
  expect(world.looks).toBe(1);
});

test("any name becomes a label, or none", () => {
  expect(["TV", "Küche (links)", "-a--b-", "🎉", "x".repeat(80)].map(labelOf)).toEqual([
    ...["tv", "kuche-links", "a-b", null, "x".repeat(63)],
  ]);
});

test("a device is found as its name is written: with an underscore, with accents, in any script", async () => {
  const { ask } = zoneOf(
    device("1", "my_tv", ["192.168.7.20"]),
    device("2", "Küche", ["192.168.7.21"]),
    device("3", "Мой телевизор", ["192.168.7.22"]),
  );
  const asked = ["my_tv", "my-tv", "küche", "kuche", "мой-телевизор"].map(domainToASCII);
  const all = await Promise.all(asked.flatMap((label) => [ask(label), ask(`${label}.home.arpa`)]));
  expect(all).toEqual([20, 20, 21, 21, 22].flatMap((last) => Array(2).fill(`192.168.7.${last}`)));
  expect(await ask("22.7.168.192.in-addr.arpa", "PTR")).toStartWith("xn--");
});

test("a device that is off has the address that a person has chosen for it", () => {
  const names = new HomeNames([{ ...device("1", "tv", []), fixed_address: "192.168.7.30" }], OWN);
  expect(names.addressesOf("tv")).toEqual(ips("192.168.7.30"));
});

function reversed(digits: string): string {
  return `${[...digits].reverse().join(".")}.ip6.arpa`;
}
