import { describe, expect, test } from "bun:test";
import fc from "fast-check";
import { alternativesTo } from "../../src/servers/alternatives.ts";
import { reachedVia, titleOf } from "../../src/servers/hops.ts";
import { PROVIDERS, type Server } from "../../src/servers/schema.ts";
import { SERVER } from "./example.ts";

/** `Country/City/name` as a server of the managed list. */
function at(place: string, change: Partial<Server> = {}): Server {
  const [country = "", city = "", name = ""] = place.split("/");
  return { ...SERVER, provider: "managed", country, city, name, ...change };
}

function places(servers: readonly Server[]): string[] {
  return servers.map(({ country, city, name }) => `${country}/${city}/${name}`);
}

const LIST = [
  at("Sweden/Stockholm/se-sto-3"),
  at("Sweden/Malmö/se-mma-1"),
  at("Sweden/Stockholm/se-sto-1"),
  at("Norway/Oslo/no-osl-1"),
  at("Sweden/Gothenburg/se-got-1"),
  at("Sweden/Stockholm/se-sto-2"),
];

describe("the alternatives to a server", () => {
  test("are those of its city, then those of its country, both by name, starting after its own", () => {
    expect(places(alternativesTo(at("Sweden/Stockholm/se-sto-2"), LIST))).toEqual([
      "Sweden/Stockholm/se-sto-3",
      "Sweden/Stockholm/se-sto-1",
      "Sweden/Gothenburg/se-got-1",
      "Sweden/Malmö/se-mma-1",
    ]);
    expect(places(alternativesTo(at("Sweden/Malmö/se-mma-1"), LIST))).toEqual([
      "Sweden/Stockholm/se-sto-1",
      "Sweden/Stockholm/se-sto-2",
      "Sweden/Stockholm/se-sto-3",
      "Sweden/Gothenburg/se-got-1",
    ]);
  });

  test("to two hops are in turn another exit by the same entry, and the same exit by another entry", () => {
    const hop = (place: string, port?: number) => {
      const server = at(place, { config: { ...SERVER.config, interface: SERVER.config.interface } });
      return port === undefined ? server : { ...server, multihopPort: port };
    };
    const list = [
      hop("Sweden/Stockholm/se-1", 3001),
      hop("Sweden/Stockholm/se-2", 3002),
      hop("Sweden/Stockholm/se-3"),
      hop("Sweden/Malmö/se-4", 3004),
      hop("Norway/Oslo/no-1", 3011),
      hop("Norway/Oslo/no-2"),
      hop("Norway/Bergen/no-3"),
    ];
    const [exit = SERVER, , , , entry = SERVER] = list;
    const ways = alternativesTo(reachedVia(exit, entry), list).map((each) => [
      titleOf(each),
      each.config.peer.endpoint.port,
    ]);
    expect(ways).toEqual([
      ["se-2 via no-1", 3002],
      ["se-1 via no-2", 3001],
      ["se-4 via no-1", 3004],
      ["se-1 via no-3", 3001],
    ]);
    // Both in one country: neither is its own entry.
    const [first = SERVER, second = SERVER] = list;
    expect(alternativesTo(reachedVia(first, second), list).map(titleOf)).toEqual([
      "se-4 via se-2",
      "se-1 via se-3",
      "se-1 via se-4",
    ]);
  });

  test("are found for a server that is no longer in the list", () => {
    expect(places(alternativesTo(at("Norway/Oslo/no-osl-0"), LIST))).toEqual(["Norway/Oslo/no-osl-1"]);
  });

  test("are not in another country, nor at another provider", () => {
    const elsewhere = at("Norway/Oslo/no-osl-1");
    const foreign = at("Norway/Oslo/no-osl-2", { provider: "custom" });
    expect(alternativesTo(elsewhere, [...LIST, foreign])).toEqual([]);
  });

  test("do not exist if its country is unknown, for such servers share no place", () => {
    const nowhere = at("Unknown/Unknown/home");
    expect(alternativesTo(nowhere, [nowhere, at("Unknown/Unknown/work")])).toEqual([]);
  });

  test("are all other servers of its country and provider, once each, whatever the order of the list", () => {
    const one = fc.record({
      country: fc.constantFrom("Sweden", "Norway", "Unknown"),
      city: fc.constantFrom("Oslo", "Malmö", "Unknown"),
      provider: fc.constantFrom(...PROVIDERS),
      name: fc.string({ minLength: 1, maxLength: 3 }),
    });
    const list = fc
      .uniqueArray(one, { selector: ({ provider, name }) => `${provider} ${name}`, minLength: 1 })
      .map((each) => each.map((change) => ({ ...SERVER, ...change })));
    fc.assert(
      fc.property(list, fc.nat(), fc.nat(), (servers, which, turn) => {
        const server = servers[which % servers.length] ?? SERVER;
        const found = alternativesTo(server, servers);
        const around = servers.filter(
          ({ provider, country }) => provider === server.provider && country === server.country,
        );
        const expected = server.country === "Unknown" ? [] : around.filter((other) => other !== server);
        expect(new Set(found)).toEqual(new Set(expected));
        expect(found).toHaveLength(expected.length);
        const near = found.map(({ city }) => city === server.city);
        expect(near).toEqual(near.toSorted((a, b) => Number(b) - Number(a)));
        const turned = [...servers.slice(turn % servers.length), ...servers.slice(0, turn % servers.length)];
        expect(alternativesTo(server, turned)).toEqual(found);
      }),
    );
  });
});
