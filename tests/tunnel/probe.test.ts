import { describe, expect } from "bun:test";
import type { Place } from "../../src/servers/place.ts";
import type { Server } from "../../src/servers/schema.ts";
import { FakeHost } from "../fake/host.ts";
import { slow } from "../fast.ts";
import { inDirectory } from "./directory.ts";
import { Gateway, kernelState, ONE, placeOf, server, serversIn, stoodAlways } from "./gateway.ts";

const { test } = slow;

const TEN_MINUTES_MS = 600_000;

/** A managed server: all of one account have the same own end. */
function managed(number: number, change: Partial<Server["config"]["peer"]> = {}): Server {
  const { config, ...rest } = server(`m${number}`, number, change);
  return {
    ...rest,
    provider: "managed",
    country: "Sweden",
    city: "Malmö",
    config: { ...config, interface: ONE.config.interface },
  };
}

const MANAGED = [4, 5, 6, 7].map((number) => managed(number));
const [M4 = ONE, M5 = ONE, M6 = ONE] = MANAGED;
const SWEDEN = placeOf(MANAGED);

function claim(text: string, work: (gateway: Gateway) => Promise<void>): void {
  test(text, () => inDirectory(async (directory) => work(await Gateway.started(directory))));
}

/** The servers are so far away, in their order; `null` never answers. */
function distances(host: FakeHost, servers: readonly Server[], ms: readonly (number | null)[]): void {
  for (const [index, one] of servers.entries()) {
    const takes = ms[index];
    if (takes == null) host.silent.add(endpointOf(one));
    else host.roundTrips.set(endpointOf(one), takes);
  }
}

function endpointOf({ config }: Server): string {
  return `${config.peer.endpoint.host}:${config.peer.endpoint.port}`;
}

function byAmnezia(server: Server): Server {
  const { config } = server;
  return { ...server, config: { ...config, interface: { ...config.interface, amnezia: { s1: 9 } } } };
}

/** What permits the relay's socket. */
function relayedTo({ config: { peer } }: Server): string {
  return `== 0x0000134d ip daddr ${peer.endpoint.host} udp dport ${peer.endpoint.port} accept`;
}

/** At each configuration of an interface: whom it knows by then, and what the firewall lets out to servers. */
function watchConfigurations(host: FakeHost) {
  const seen: { table: string; addresses: readonly string[] }[] = [];
  host.onEvent = (event) => {
    const link = /^wg setconf (\S+) /.exec(event)?.[1] ?? "";
    if (event !== "uapi set" && link === "") return;
    seen.push({ table: host.table ?? "", addresses: host.links.get(link)?.addresses ?? [] });
  };
  return seen;
}

async function current(gateway: Gateway): Promise<string> {
  return (await gateway.status()).server;
}

describe.each([true, false])("a connect to a place, WireGuard in the kernel: %p", (native) => {
  claim("takes the server whose handshake took the shortest time", async (gateway) => {
    const { controller, host } = gateway;
    host.native = native;
    distances(host, MANAGED, [90, 34, 30, 70]);
    await controller.connect(SWEDEN);
    expect(await current(gateway)).toBe("m6");
    expect(stoodAlways(host)).toBe(true);
  });

  claim("takes the only one that answers", async (gateway) => {
    const { controller, host } = gateway;
    host.native = native;
    distances(host, MANAGED, [null, null, null, 2_000]);
    await controller.connect(SWEDEN);
    expect(await current(gateway)).toBe("m7");
  });
});

describe("a probe", () => {
  claim(
    "asks all at once, from an interface without addresses, and opens for them alone",
    async (gateway) => {
      const { controller, host } = gateway;
      const seen = watchConfigurations(host);
      await controller.connect(SWEDEN);
      expect(seen).toHaveLength(2);
      expect(seen[0]?.addresses).toEqual([]);
      expect(serversIn(seen[0]?.table ?? "")).toEqual(MANAGED.map(endpointOf));
      expect(seen[0]?.table).not.toContain('"wg0" accept');
      expect(serversIn(seen[1]?.table ?? "")).toHaveLength(1);
    },
  );

  claim(
    "asks one that is reached by AmneziaWG after the others, by a relay, and never in plain",
    async (gateway) => {
      const { controller, host } = gateway;
      const hidden = byAmnezia(M5);
      const seen = watchConfigurations(host);
      distances(host, [M4, hidden, M6], [90, 20, 70]);
      await controller.connect(placeOf([M4, hidden, M6]));
      expect(seen.map(({ table }) => serversIn(table))).toEqual([[M4, M6].map(endpointOf), [], []]);
      expect(seen.map(({ table }) => table.includes(relayedTo(hidden)))).toEqual([false, true, true]);
      expect(await gateway.status()).toMatchObject({ server: "m5", transport: "amnezia" });
      expect(host.relays.opened.size).toBe(1);
    },
  );

  claim("finds the nearest of a place whose servers are all reached by AmneziaWG", async (gateway) => {
    const { controller, host } = gateway;
    const hidden = MANAGED.map(byAmnezia);
    distances(host, hidden, [90, 34, 20, 70]);
    host.relays.faults.set(endpointOf(M6), "silent");
    await controller.connect(placeOf(hidden));
    expect(await gateway.status()).toMatchObject({ server: "m5", transport: "amnezia" });
    expect(host.relays.opened.size).toBe(1);
  });

  claim("dials one by AmneziaWG that there was no time to ask, and says if none is left", async (gateway) => {
    const { controller, host } = gateway;
    const hidden = MANAGED.map(byAmnezia);
    for (const each of [M4, M5]) host.relays.faults.set(endpointOf(each), "silent");
    await controller.connect(placeOf(hidden));
    expect(await current(gateway)).toBe("m6");
    await controller.disconnect();
    await expect(controller.connect(placeOf(hidden.slice(0, 2)))).rejects.toThrow(
      "none of the 2 servers tried in Sweden answered the WireGuard handshake",
    );
    expect(host.relays.opened.size).toBe(0);
  });

  claim("goes on in a place whose first server is reached by AmneziaWG", async (gateway) => {
    const { controller, host } = gateway;
    const place = placeOf([byAmnezia(M4), M5, M6]);
    distances(host, [M4, M5, M6], [90, 50, 20]);
    await controller.connect(place);
    expect(await current(gateway)).toBe("m6");
  });

  claim("leaves the live tunnel alone, and nothing behind", async (gateway) => {
    const { controller, host } = gateway;
    await controller.connect(ONE);
    const seen = watchConfigurations(host);
    distances(host, MANAGED, [20, 30, 40, 50]);
    let routes: unknown;
    const { onEvent } = host;
    host.onEvent = (event) => {
      onEvent(event);
      if (seen.length === 1) routes = [...host.routes.values()];
    };
    await controller.connect(SWEDEN);
    expect(serversIn(seen[0]?.table ?? "")).toEqual([ONE, ...MANAGED].map(endpointOf));
    expect(seen[0]?.table).toContain('oifname "wg0" accept');
    expect(seen[0]?.table).not.toContain('"wg1" accept');
    expect(routes).toEqual(["wg0", "wg0"]);
    expect(await current(gateway)).toBe("m4");
    await gateway.comeToRest();
    await inDirectory(async (directory) => {
      const fresh = await Gateway.started(directory);
      await fresh.controller.connect(M4);
      expect(kernelState(host)).toBe(kernelState(fresh.host));
    });
  });

  claim("is over soon after the first answer, and after three seconds without any", async (gateway) => {
    const { controller, host } = gateway;
    const took = async (ms: readonly (number | null)[]) => {
      host.silent.clear();
      distances(host, MANAGED, ms);
      const at: number[] = [];
      host.onEvent = (event) => {
        if (/^(wg setconf|ip link del) /.test(event)) at.push(host.monotonic());
      };
      await controller.connect(SWEDEN).catch(() => {});
      const [begun = 0, ended = 0] = at;
      return ended - begun;
    };
    expect(await took([null, null, null, null])).toBeWithin(3_000, 3_100);
    expect(await took([10, 500, null, 900])).toBeLessThan(150);
  });

  claim(
    "of a place of which some servers are known, and of the others not even the address",
    async (gateway) => {
      const { controller, host } = gateway;
      distances(host, [M4, M5], [40, 30]);
      await controller.connect(placeOf([M4, M5]));
      await controller.disconnect();
      const lost = server("lost", 9, { endpoint: { host: "lost.example", port: 51820 } });
      await controller.connect({
        ...placeOf([M4, M5, { ...lost, provider: "managed" }]),
        country: "Elsewhere",
      });
      expect(await current(gateway)).toBe("m5");
    },
  );

  claim("that nobody answers says how many were tried, and changes nothing", async (gateway) => {
    const { controller, host } = gateway;
    await controller.connect(ONE);
    const before = kernelState(host);
    distances(host, MANAGED, [null, null, null, null]);
    await expect(controller.connect(SWEDEN)).rejects.toMatchObject({
      code: "no_answer",
      message: "none of the 4 servers tried in Sweden answered the WireGuard handshake",
    });
    expect(kernelState(host)).toBe(before);
    expect(await gateway.status()).toMatchObject({ state: "connected", server: "one" });
    expect((await gateway.status()).error).toContain("none of the 4 servers");
  });

  claim("is interrupted by a disconnect", async (gateway) => {
    const { controller, host } = gateway;
    const before = kernelState(host);
    distances(host, MANAGED, [null, null, null, null]);
    const hungUp = Promise.withResolvers<void>();
    let sleeps = 0;
    host.onEvent = (event) => {
      if (!host.commands.at(-1)?.startsWith("wg setconf") || event !== "sleep") return;
      sleeps += 1;
      if (sleeps === 1) controller.disconnect().then(hungUp.resolve, hungUp.reject);
    };
    await expect(controller.connect(SWEDEN)).rejects.toThrow("interrupted by a disconnect");
    await hungUp.promise;
    expect(sleeps).toBe(1);
    expect(kernelState(host)).toBe(before);
    expect((await gateway.status()).state).toBe("disconnected");
  });

  test("needs an uplink, and says so", () =>
    inDirectory(async (directory) => {
      const host = new FakeHost();
      host.setDefaultRoute(null);
      const { controller } = await Gateway.started(directory, host);
      await expect(controller.connect(SWEDEN)).rejects.toThrow("there is no default route");
    }));

  claim("measures by its own clock where the date is set meanwhile", async (gateway) => {
    const { controller, host } = gateway;
    host.native = false;
    distances(host, MANAGED, [20, 10, 90, 90]);
    let looks = 0;
    host.onEvent = (event) => {
      if (event === "uapi get" && ++looks === 2) host.setClock(-TEN_MINUTES_MS);
    };
    await controller.connect(SWEDEN);
    expect(await current(gateway)).toBe("m5");
  });

  claim(
    "asks servers with a key of their own, or with the same one, one after the other",
    async (gateway) => {
      const { controller, host } = gateway;
      const sameKey = managed(8, { publicKey: M4.config.peer.publicKey });
      const own = { ...server("own", 9), provider: "managed" as const };
      const servers = [M4, sameKey, own, M5];
      const seen = watchConfigurations(host);
      distances(host, servers, [40, 30, 20, 50]);
      await controller.connect(placeOf(servers));
      const rounds = seen.slice(0, -1).map(({ table }) => serversIn(table));
      expect(rounds).toEqual([[M4, M5].map(endpointOf), [endpointOf(sameKey)], [endpointOf(own)]]);
      expect(await current(gateway)).toBe("own");
    },
  );

  claim("looks names up as a connect does, and leaves out whose name has no address", async (gateway) => {
    const { controller, host } = gateway;
    host.files.set("/etc/resolv.conf", "nameserver 192.168.7.254\n");
    host.names.set("near.example", ["192.0.2.200"]);
    const near = managed(10, { endpoint: { host: "near.example", port: 51820 } });
    const lost = managed(11, { endpoint: { host: "lost.example", port: 51820 } });
    distances(host, [M4, M5], [30, 40]);
    await controller.connect(placeOf([M4, M5, lost, near]));
    expect(await current(gateway)).toBe("m10");
    expect(kernelState(host)).not.toContain("priority 30");
  });

  claim("of which no name has an address says why", async ({ controller, host }) => {
    host.files.set("/etc/resolv.conf", "nameserver 192.168.7.254\n");
    const before = kernelState(host);
    const lost = [10, 11].map((number) =>
      managed(number, { endpoint: { host: "lost.example", port: 51820 } }),
    );
    await expect(controller.connect(placeOf(lost))).rejects.toThrow("no resolver answered for lost.example");
    expect(kernelState(host)).toBe(before);
  });

  claim("never asks the server of the live tunnel, whatever it is called", async (gateway) => {
    const { controller, host } = gateway;
    await controller.connect({ ...M4, provider: "custom", name: "mine", country: "Unknown" });
    const seen = watchConfigurations(host);
    await controller.connect(SWEDEN);
    // Each tunnel has such a rule, also to the same server.
    expect(seen[0]?.table.match(/ct original ip daddr 192\.0\.2\.4 ct original proto-dst /g)).toHaveLength(1);
    expect(await current(gateway)).not.toBe("m4");
  });
});

describe("what a probe has found", () => {
  claim("counts for ten minutes", async (gateway) => {
    const { controller, host } = gateway;
    distances(host, MANAGED, [90, 80, 20, 70]);
    await controller.connect(SWEDEN);
    await controller.disconnect();
    distances(host, MANAGED, [20, 80, 90, 70]);
    const seen = watchConfigurations(host);
    await host.sleep(TEN_MINUTES_MS / 2);
    await controller.connect(SWEDEN);
    expect([await current(gateway), seen.length]).toEqual(["m6", 1]);
    await controller.disconnect();
    await host.sleep(TEN_MINUTES_MS / 2);
    await controller.connect(SWEDEN);
    expect([await current(gateway), seen.length]).toEqual(["m4", 3]);
  });

  claim("of one place is of use for another, whose other servers are asked", async (gateway) => {
    const { controller, host } = gateway;
    distances(host, MANAGED, [20, 90, 30, 50]);
    await controller.connect({ ...placeOf([M4, M5]), city: "Malmö" });
    await controller.disconnect();
    const seen = watchConfigurations(host);
    await controller.connect(SWEDEN);
    expect(serversIn(seen[0]?.table ?? "")).toEqual([M6, managed(7)].map(endpointOf));
    expect(await current(gateway)).toBe("m4");
  });

  claim("is forgotten of a server that then does not answer", async (gateway) => {
    const { controller, host } = gateway;
    distances(host, MANAGED, [20, 30, 90, 90]);
    await controller.connect(SWEDEN);
    await controller.disconnect();
    host.silent.add(endpointOf(M4));
    await expect(controller.connect(SWEDEN)).rejects.toThrow("m4 did not answer");
    await controller.connect(SWEDEN);
    expect(await current(gateway)).toBe("m5");
  });

  claim("is forgotten of a server whose session dies", async (gateway) => {
    const { controller, host } = gateway;
    distances(host, MANAGED, [20, 30, 90, 90]);
    await controller.connect(SWEDEN);
    await gateway.look();
    host.silent.add(endpointOf(M4));
    controller.lost("a test");
    await controller.connect(SWEDEN);
    expect(await current(gateway)).toBe("m5");
  });

  claim("is forgotten of a name that is another server now", async (gateway) => {
    const { controller, host } = gateway;
    distances(host, MANAGED, [20, 30, 90, 90]);
    await controller.connect(SWEDEN);
    await controller.disconnect();
    const moved = managed(4, { endpoint: { host: "192.0.2.99", port: 51820 } });
    distances(host, [moved], [90]);
    await controller.connect(placeOf([moved, ...MANAGED.slice(1)]));
    expect(await current(gateway)).toBe("m5");
  });
});

describe("nobody is asked", () => {
  const unprobed = async (gateway: Gateway, place: Place, configurations: number) => {
    const seen = watchConfigurations(gateway.host);
    await gateway.controller.connect(place);
    expect(seen).toHaveLength(configurations);
  };

  claim("where the place has one server", async (gateway) => {
    await unprobed(gateway, placeOf([M5]), 1);
    expect(await current(gateway)).toBe("m5");
  });

  claim("and nothing changes, where the live tunnel leads to the place", async (gateway) => {
    await gateway.controller.connect(M5);
    await unprobed(gateway, SWEDEN, 0);
    expect(await current(gateway)).toBe("m5");
  });

  claim("a second time while the same place is looked for", async (gateway) => {
    const seen = watchConfigurations(gateway.host);
    await Promise.all(
      [SWEDEN, { ...SWEDEN, servers: [M6, M5] }].map((one) => gateway.controller.connect(one)),
    );
    expect(seen).toHaveLength(2);
  });
});

claim("who listens hears of a connect to a place as of any other", async (gateway) => {
  const { controller } = gateway;
  const heard: string[] = [];
  controller.onChange(({ name }) => heard.push(name));
  await controller.connect(SWEDEN);
  expect(heard).toEqual(["connecting", "connected"]);
});

claim("a server that is being asked is in use", async ({ controller, host }) => {
  const connecting = controller.connect(SWEDEN);
  expect(controller.uses("managed", "m7")).toBe(true);
  await connecting;
  await host.pass(0);
  expect(["m4", "m7"].map((name) => controller.uses("managed", name))).toEqual([true, false]);
});
