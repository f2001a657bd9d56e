import { afterAll, beforeAll, describe, expect, setDefaultTimeout } from "bun:test";
import { LAN, ROUTER, UPLINK } from "../../src/sandbox/topology.ts";
import { long } from "../fast.ts";
import { createLab, type Gateway, type Lab } from "../rig/tools/lab.ts";
import { until } from "../rig/tools/until.ts";

const { test } = long("each case of what the leaks show in passing");

setDefaultTimeout(120_000);

/** A request is repeated each second, three times. */
const ASKED_FOR_MS = 5_000;

/** Whether the home router gets the gateway's link-layer address, for packets from this address of the router's. */
async function answers(lab: Lab, from: string, to: string): Promise<boolean> {
  const { router } = lab.namespaces;
  const state = async () => {
    const { stdout } = await lab.exec(router, ["ip", "-j", "neigh", "show", to, "dev", "lan0"]);
    return (JSON.parse(stdout || "[]") as { state: string[] }[])[0]?.state[0] ?? "NONE";
  };
  await lab.exec(router, ["ip", "neigh", "del", to, "dev", "lan0"]);
  // Whether it is answered is of no interest: the kernel has asked for the address.
  await lab.exec(router, ["ping", "-c", "1", "-W", "0.1", "-I", from, to]);
  await until(async () => !["INCOMPLETE", "NONE"].includes(await state()), ASKED_FOR_MS);
  return (await state()) !== "FAILED";
}

for (const cards of [1, 2] as const)
  describe(`with ${cards === 1 ? "one network card" : "two network cards"}`, () => {
    let lab: Lab;
    let service: Gateway;
    const router = ROUTER.lan[cards];
    const own = cards === 1 ? LAN : UPLINK;
    beforeAll(async () => {
      lab = await createLab({ cards });
      service = await lab.startGateway();
    });
    afterAll(() => lab.close());

    async function silentWays(): Promise<string[]> {
      const silent: string[] = [];
      for (const filter of [0, 1, 2]) {
        const settings = ["all", lab.sandbox.uplink].map(
          (name) => `net.ipv4.conf.${name}.rp_filter=${filter}`,
        );
        await lab.exec(lab.namespaces.gateway, ["sysctl", "-qw", ...settings]);
        if (!(await answers(lab, router.v4, own.gateway4))) silent.push(`rp_filter ${filter}`);
      }
      if (!(await answers(lab, router.v6, own.gateway6))) silent.push("IPv6");
      return silent;
    }

    test("the home router finds the gateway's card in every state, whatever the reverse-path filter", async () => {
      const api = async (method: string, path: string, body?: unknown) =>
        expect((await service.api(method, path, body)).status).toBe(200);
      const operate = async (...words: string[]) => expect((await service.operate(...words)).code).toBe(0);
      const states: Record<string, () => Promise<unknown>> = {
        blocked: async () => {},
        "main is up": () => api("POST", "/api/connect", { server: "box-vpn-1" }),
        "main is up, and the kill switch is off": () => operate("killswitch", "off"),
        "main is down again": async () => {
          await operate("killswitch", "on");
          await api("POST", "/api/disconnect");
        },
        "only another tunnel is up": async () => {
          await api("PUT", "/api/tunnels/second", { provider: "managed", server: "box-vpn-2" });
        },
        "the firewall has been flushed by another program, and restored": async () => {
          await lab.exec(lab.namespaces.gateway, ["nft", "flush", "ruleset"]);
          await until(
            async () =>
              (await lab.exec(lab.namespaces.gateway, ["nft", "list", "table", "arp", "portcullis"])).code ===
              0,
          );
        },
      };
      const silent: Record<string, string[]> = {};
      for (const [state, enter] of Object.entries(states)) {
        await enter();
        silent[state] = await silentWays();
      }
      expect(silent).toEqual(Object.fromEntries(Object.keys(states).map((state) => [state, []])));
    });
  });
