import { describe, expect, test } from "bun:test";
import { GatewayError } from "../../src/base/errors.ts";
import { Catalogue } from "../../src/servers/catalogue.ts";
import { ManagedList, type OwnEnd } from "../../src/servers/managed.ts";
import { MAX_OFFERED, type Place, spotNamed, spread } from "../../src/servers/place.ts";
import type { Server } from "../../src/servers/schema.ts";
import { PROVIDER_WORDS } from "../../src/shared/words.ts";
import { Store } from "../../src/store/store.ts";
import { formatConfig } from "../../src/wireguard/config-text.ts";
import { ip } from "../fake/address.ts";
import { BODY, CONFIG, inDirectory, NOW, PUBLIC } from "./example.ts";

/** `Country/City/name`. */
function at(text: string) {
  const [country = "", city = "", name = ""] = text.split("/");
  return { country, city, name, label: "Mullvad", ipv4: "192.0.2.1" };
}

const LIST = [
  at("Sweden/Stockholm/se-sto-1"),
  at("Sweden/Malmö/se-mma-1"),
  at("Costa Rica/San Jose/cr-1"),
  at("USA/San Jose/us-1"),
  at("Luxembourg/Luxembourg/lu-1"),
  at("Belgium/Luxembourg/be-1"),
  at("Unknown/Unknown/x-1"),
  at("Sweden/Unknown/se-x-1"),
];

describe("a place", () => {
  test.each([
    ["Sweden", { country: "Sweden", city: null }],
    ["Malmö", { country: "Sweden", city: "Malmö" }],
    ["Malmö, Sweden", { country: "Sweden", city: "Malmö" }],
    ["San Jose, USA", { country: "USA", city: "San Jose" }],
    ["San Jose, Costa Rica", { country: "Costa Rica", city: "San Jose" }],
  ])("%s is one", (name, spot) => {
    expect(spotNamed(name, LIST)).toEqual(spot);
  });

  test("that is a country and a city is the country", () => {
    expect(spotNamed("Luxembourg", LIST)).toEqual({ country: "Luxembourg", city: null });
  });

  test.each([
    "sweden",
    "Swede",
    "Sweden ",
    "Oslo",
    "Malmö, Norway",
    "Malmö,Sweden",
    "",
    "Unknown",
    "Unknown, Sweden",
  ])("is not %p", (name) => {
    expect(spotNamed(name, LIST)).toBeNull();
  });

  test("whose name exists in several countries is refused, with the way to name one of them", () => {
    expect(() => spotNamed("San Jose", LIST)).toThrow(
      new GatewayError(
        "bad_request",
        'server: there is a San Jose in Costa Rica and in USA: give the country too, as in "San Jose, Costa Rica"',
      ),
    );
  });
});

describe("a choice of servers", () => {
  const servers = ["a", "a", "a", "a", "b", "b", "c"].map((city, index) => ({ city, index }));
  const citiesOf = (some: readonly { city: string }[]) => some.map(({ city }) => city).toSorted();

  test("takes from each city in turn", () => {
    for (let times = 0; times < 50; times++) {
      expect(citiesOf(spread(servers, 3))).toEqual(["a", "b", "c"]);
      expect(citiesOf(spread(servers, 5))).toEqual(["a", "a", "b", "b", "c"]);
      expect(citiesOf(spread(servers, 6))).toEqual(["a", "a", "a", "b", "b", "c"]);
      expect(spread(servers, 9).toSorted((x, y) => x.index - y.index)).toEqual(servers);
    }
    expect(spread([], 5)).toEqual([]);
  });

  test("is random within a city, and among more cities than are measured", () => {
    const firsts = new Set<number>();
    for (let times = 0; times < 500; times++) for (const { index } of spread(servers, 2)) firsts.add(index);
    expect(firsts.size).toBe(servers.length);
  });
});

describe("the meaning of a name", () => {
  test("is the hostname first, then the place", () => {
    withCatalogue((catalogue) => {
      catalogue.use("custom");
      catalogue.addCustom({ ...BODY, name: "one", location: "Malmö, Sweden" });
      catalogue.addCustom({ ...BODY, name: "two", location: "Lund, Sweden" });
      expect(placeOf(catalogue.find("Sweden"))).toMatchObject({
        name: "Sweden",
        provider: "custom",
        country: "Sweden",
        city: null,
      });
      expect(namesOf(catalogue.find("Sweden")).toSorted()).toEqual(["one", "two"]);
      expect(namesOf(catalogue.find("Malmö"))).toEqual(["one"]);
      catalogue.addCustom({ ...BODY, name: "Sweden" });
      expect(catalogue.find("Sweden")).toMatchObject({ name: "Sweden", location: "" });
    });
  });

  test("is not a place of another provider, and imported servers have no place", () => {
    withCatalogue((catalogue) => {
      catalogue.addCustom({ ...BODY, location: "Malmö, Sweden" });
      catalogue.importConfig({ name: "mine", config: formatConfig(CONFIG) });
      for (const provider of ["managed", "imported"] as const) {
        catalogue.use(provider);
        const nobody = `server: there is no server, country or city of this name among ${PROVIDER_WORDS[provider].servers}`;
        for (const name of ["Sweden", "Unknown"]) {
          expect(() => catalogue.find(name)).toThrow(new GatewayError("not_found", nobody));
        }
      }
    });
  });

  test("at a managed place is a few servers, and all that were measured", () => {
    const managed = managedList(2_000);
    withCatalogue((catalogue) => {
      const few = namesOf(catalogue.find("Land 1"));
      expect(few).toHaveLength(MAX_OFFERED);
      expect(few.every((name) => Number(name) % 20 === 1)).toBe(true);
      const measured = (_: string, name: string) => name === "21" || name === "41" || name === "22";
      const more = namesOf(catalogue.find("Land 1", measured));
      expect(more.slice(0, 2)).toEqual(["21", "41"]);
      expect(new Set(more).size).toBe(2 + MAX_OFFERED);
    }, managed);
  });

  test("at a managed place needs an account, as that of a server does", () => {
    const managed = managedList(20, { missing: "there is none" });
    withCatalogue((catalogue) => {
      for (const name of ["Land 1", "1"]) {
        expect(() => catalogue.find(name)).toThrow("server: this server needs a VPN account");
      }
    }, managed);
  });
});

function placeOf(found: Server | Place): Place {
  if ("servers" in found) return found;
  throw new Error(`${found.name} is a server`);
}

function namesOf(found: Server | Place): string[] {
  return placeOf(found).servers.map(({ name }) => name);
}

function withCatalogue(
  work: (catalogue: Catalogue) => void,
  managed = new ManagedList({ missing: "there is none" }),
): void {
  inDirectory((directory) => {
    const store = Store.open(directory, NOW);
    work(new Catalogue(store, managed));
    store.close();
  });
}

/** Servers `0`, `1`, … in twenty countries. */
function managedList(count: number, ownEnd: OwnEnd = { interface: CONFIG.interface }): ManagedList {
  const servers = Array.from({ length: count }, (_, index) => ({
    ...{ name: `${index}`, label: "Mullvad", country: `Land ${index % 20}`, city: `Town ${index % 60}` },
    ...{ ipv4: ip("192.0.2.1"), port: 51820, publicKey: PUBLIC },
  }));
  const managed = new ManagedList(ownEnd);
  managed.take({ servers, skipped: 0 });
  return managed;
}
