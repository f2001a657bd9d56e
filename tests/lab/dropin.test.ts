import { afterAll, beforeAll, expect, setDefaultTimeout } from "bun:test";
import { addressOf } from "../../src/base/address.ts";
import { INTERNET, LAN, type NetworkCards } from "../../src/sandbox/topology.ts";
import { long } from "../fast.ts";
import { DropIn } from "../rig/home/dropin.ts";
import { OWN6 } from "../rig/home/home-routers.ts";
import { story } from "../rig/tools/claims.ts";
import { CLIENT_KINDS } from "../rig/tools/client-programs.ts";
import { until } from "../rig/tools/until.ts";

const { describe } = long("the same gateway with other cables and lines");

const TEST_MS = 180_000;
setDefaultTimeout(TEST_MS);

/** Rounds of datagrams: some seconds, enough for a leak to show. */
const ENOUGH = 30;
/** Nobody can be served meanwhile. */
const WITHOUT_POWER_MS = 5_000;
const PAGE6 = `http://[${INTERNET.host6}]/`;
const ROUTER = { dhcp: true, ipv6: true };

async function startAll(home: DropIn): Promise<void> {
  await home.each(async (client) => client.start());
}

async function restartAll(home: DropIn): Promise<void> {
  await home.each(async (client) => {
    await client.stop();
    client.start();
  });
}

describe.each([1, 2] as const)("in front of a home, with cables: %d", (cards: NetworkCards) => {
  let home: DropIn;
  beforeAll(async () => {
    home = await DropIn.open(cards);
  });
  afterAll(() => home?.close());

  story(
    "from the moment that it is put there, its computers use the tunnel alone, whatever ends and comes back",
    TEST_MS,
    (claim) => {
      if (cards === 1)
        claim("positive control: before it, what the computers send is seen at the home router", async () => {
          await home.gateway.kill("SIGKILL");
          await home.routerServes(ROUTER);
          await startAll(home);
          await home.served();
          const leaked = Object.values(await home.leaked());
          expect(leaked.every(({ v4, v6 }) => v4 > 0 && v6 > 0)).toBe(true);
        });

      claim(
        "computers that were there before use the tunnel, over IPv4 and IPv6, once they connect again",
        async () => {
          await home.connect();
          await home.routerServes(cards === 1 ? { dhcp: false, ipv6: false } : ROUTER);
          if (cards === 1) await home.each((client) => client.reconnect());
          else await startAll(home);
          await until(() => home.clients.every((client) => home.leases(client) > 0));
          await home.served();
          await home.mark();
          await home.rounds(ENOUGH);
          expect(await home.leaks()).toEqual([]);
        },
      );

      claim(
        "computers that join later use it and its resolver from their first packet, and have the names that they told",
        async () => {
          await restartAll(home);
          await home.served();
          expect(await home.leaks()).toEqual([]);
          const resolvers = new Set(home.clients.flatMap((client) => client.resolvers()));
          expect([...resolvers].toSorted()).toEqual([LAN.gateway4, addressOf(OWN6)]);
          // dnsmasq empties its file of leases before it writes it again, with each lease.
          await until(async () => {
            const { devices } = (await home.gateway.api("GET", "/api/devices")).body;
            return home.clients.every(({ mac, name }) =>
              devices.some((each: { id: string; name: string }) => each.id === mac && each.name === name),
            );
          });
        },
      );

      claim("they renew their leases, also after a restart of the DHCP server", async () => {
        const leases = () => home.clients.map((client) => home.leases(client));
        const before = leases();
        await until(() => leases().every((count, index) => count > (before[index] ?? 0)));
        await home.serveAgain();
        const between = leases();
        await until(() => leases().every((count, index) => count > (between[index] ?? 0)));
        await home.served();
        expect(await home.leaks()).toEqual([]);
      });

      claim(
        "when the service is killed, and while it is down, nothing is seen outside the tunnel",
        async () => {
          await home.gateway.kill("SIGKILL");
          await home.rounds(ENOUGH);
          await restartAll(home);
          await home.served();
          await home.gateway.start();
          await home.served();
          expect(await home.leaks()).toEqual([]);
        },
      );

      claim(
        "when the gateway loses its power nothing is seen, and all is back after its return",
        async () => {
          await home.cutPower();
          await Bun.sleep(WITHOUT_POWER_MS);
          const served = Object.values(await home.rounds(ENOUGH));
          expect(served.every(({ answered4, answered6 }) => answered4 + answered6 === 0)).toBe(true);
          await home.powerUp();
          await home.served();
          expect(await home.leaks()).toEqual([]);
        },
      );

      claim("with a tunnel for IPv4 alone, IPv6 is refused at once", async () => {
        const [{ customBody }] = home.lab.sandbox.servers;
        const [address = ""] = customBody.address.split(",");
        const only4 = { ...customBody, name: "only-4", address };
        for (const [path, body] of [
          ["/api/custom/add", only4],
          ["/api/provider/custom", undefined],
          ["/api/connect", { server: "only-4" }],
        ] as const)
          expect((await home.gateway.api("POST", path, body)).status).toBe(200);
        await home.served(4);
        const refused = await home.each(({ namespace }) => home.lab.isRefused(namespace, PAGE6));
        expect(refused).toEqual(
          Object.fromEntries(CLIENT_KINDS.map((kind) => [kind, true])) as typeof refused,
        );
        await home.rounds(ENOUGH);
        expect(await home.leaks()).toEqual([]);
      });

      claim(
        "positive control: without the kill switch the same traffic is seen at the home router",
        async () => {
          await home.gateway.expose();
          await until(async () => {
            await home.rounds(1);
            return (await home.leaks()).length > 0;
          });
        },
      );
    },
  );
});
