import { afterAll, beforeAll, expect, setDefaultTimeout } from "bun:test";
import { INTERNET } from "../../src/sandbox/topology.ts";
import { long } from "../fast.ts";
import { DropIn } from "../rig/home/dropin.ts";
import { story } from "../rig/tools/claims.ts";
import { until } from "../rig/tools/until.ts";

const { describe } = long("the same gateway beside other home routers");

const TEST_MS = 180_000;
setDefaultTimeout(TEST_MS);

/** Rounds of datagrams: some seconds, enough for a leak to show. */
const ENOUGH = 30;
const PAGE6 = `http://[${INTERNET.host6}]/`;
/** Exit codes of curl. */
const [SERVED, COULD_NOT_CONNECT] = [0, 7];
/** Between two looks at the sniffer. */
const LOOK_MS = 250;

/** One cable, and a home router that goes on advertising itself for IPv6. */
let home: DropIn;
beforeAll(async () => {
  home = await DropIn.open(1);
  await home.noticesSoon();
});
afterAll(() => home?.close());

const v4 = async () => Object.values(await home.leaked()).map((leaked) => leaked.v4);
const NONE = {
  NetworkManager: { v4: 0, v6: 0 },
  "systemd-networkd": { v4: 0, v6: 0 },
  dhclient: { v4: 0, v6: 0 },
};
const isOut = async () => Object.values(await home.leaked()).every((leaked) => leaked.v6 > 0);

describe("IPv6", () => {
  story(
    "beside a home router that goes on advertising itself: before the gateway, with it, without its power, and after its return",
    TEST_MS,
    (claim) => {
      claim("positive control: before the gateway is there, IPv6 is seen at the home router", async () => {
        await home.gateway.kill("SIGKILL");
        await home.routerServes({ dhcp: false, ipv6: true });
        await home.each(async (client) => client.start());
        await until(isOut, TEST_MS, LOOK_MS);
      });

      claim(
        "with the gateway nothing uses the home router, because longer prefixes lead to the gateway",
        async () => {
          await home.connect();
          await home.served(4);
          await home.knowBothRouters();
          await home.mark();
          await home.rounds(ENOUGH);
          expect(await home.leaked()).toEqual(NONE);
          // From an address of the gateway's prefix it is served, and from one of the home router's it is refused at once.
          const ends = await home.each(({ namespace }) =>
            home.lab.exec(namespace, ["curl", "-gs", "-m", "30", PAGE6]),
          );
          for (const { code } of Object.values(ends)) expect([SERVED, COULD_NOT_CONNECT]).toContain(code);
        },
      );

      claim("without the gateway's power IPv4 has no way out, and IPv6 goes to the home router", async () => {
        await home.cutPower();
        await home.mark();
        const ms = await until(isOut, TEST_MS, LOOK_MS);
        console.log(
          `without power, all three send IPv6 to the home router after ${(ms / 1000).toFixed(0)} s`,
        );
        expect(await v4()).toEqual([0, 0, 0]);
      });

      claim("after its return the gateway is preferred again", async () => {
        await home.powerUp();
        await home.served(4);
        const uses = async () => {
          await home.mark();
          await home.rounds(ENOUGH);
          return Bun.deepEquals(await home.leaked(), NONE);
        };
        await until(uses);
      });
    },
  );
});
