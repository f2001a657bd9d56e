import assert from "node:assert/strict";
import { INTERNET, LAN } from "../../../src/sandbox/topology.ts";
import type { Lab } from "../tools/lab.ts";
import { Wiretap } from "../tools/wiretap.ts";
import { type FreshScenario, forgetRedirects } from "./fresh.ts";
import type { Scenario } from "./stage.ts";

/** Of the client, each of which a plain router would answer with a redirect. */
const PACKETS = 60;
/** The kernel allows one a second to each client. */
const QUIET_MS = 1_200;
const REDIRECTS = "icmp[icmptype] == icmp-redirect or (icmp6 and ip6[40] == 137)";

/**
 * With one card the gateway sends a client's packets out by the interface that they came in by. A plain router then
 * tells the client to go to the next router itself, and the client goes past the gateway from there on.
 */
export const REDIRECT_SCENARIOS: readonly Scenario[] = (["connected", "blocked"] as const).map((from) => ({
  name: `no ICMP redirect is sent, and the client's routes stay, while ${from}`,
  cards: [1],
  from,
  run: async (stage) => {
    const { lab } = stage;
    const gateway6 = await useLinkAddresses(lab);
    try {
      assert.deepEqual(await redirectsDuring(lab, () => stage.observe(PACKETS)), []);
      assert.deepEqual(await waysOf(lab), [LAN.gateway4, gateway6]);
    } finally {
      await defaultRoute(lab, lab.namespaces.client, LAN.gateway6);
    }
  },
}));

/** The same with the firewall alone: then the kernel finds the clients' way out, and it is the way they came. */
export const REDIRECTS_BY_THE_FIREWALL: FreshScenario = {
  name: "no ICMP redirect is sent where the routing rules are gone and nothing mends them",
  cards: [1],
  run: async (fresh) => {
    const { lab } = fresh;
    await useLinkAddresses(lab);
    const sent = await redirectsDuring(lab, () => pings(lab));
    for (const family of ["IP ", "IP6 "])
      assert(
        sent.some((line) => line.startsWith(family)),
        "positive control",
      );
    const gateway = await lab.startGateway();
    await gateway.kill("SIGKILL");
    for (const family of ["-4", "-6"]) {
      for (const priority of ["50", "60", "70", "80", "90"]) {
        const argv = ["ip", family, "rule", "del", "priority", priority];
        while ((await lab.exec(lab.namespaces.gateway, argv)).code === 0);
      }
    }
    await forgetRedirects(fresh.lab);
    await fresh.guarded(async () => assert.deepEqual(await redirectsDuring(lab, () => pings(lab)), []));
  },
};

/** Few and slow: errors to a client that sends much use up what the kernel allows of redirects to it. */
async function pings(lab: Lab): Promise<void> {
  await Bun.sleep(QUIET_MS);
  const hosts = [INTERNET.host4, INTERNET.host6];
  await Promise.all(
    hosts.map((host) => lab.exec(lab.namespaces.client, ["ping", "-c", "2", "-i", "1.2", "-W", "1", host])),
  );
}

async function redirectsDuring({ namespaces }: Lab, work: () => Promise<unknown>): Promise<string[]> {
  const tap = await Wiretap.start(namespaces.client, "lan0", REDIRECTS);
  await work();
  return tap.stop();
}

/** Through whom the client goes to the internet, over IPv4 and IPv6; the kernel's answer knows of redirects. */
async function waysOf(lab: Lab): Promise<string[]> {
  const hosts = [INTERNET.host4, INTERNET.host6];
  const shown = hosts.map((host) => lab.exec(lab.namespaces.client, ["ip", "-j", "route", "get", host]));
  return (await Promise.all(shown)).map(({ stdout }) => JSON.parse(stdout)[0].gateway);
}

/**
 * Routes as router advertisements give them: IPv6 redirects come from link-local addresses and are about such alone
 * (RFC 4861, section 8). Returns the gateway's.
 */
async function useLinkAddresses(lab: Lab): Promise<string> {
  const { client, gateway, router } = lab.namespaces;
  const own = await linkAddress(lab, gateway);
  await defaultRoute(lab, gateway, await linkAddress(lab, router));
  await defaultRoute(lab, client, own);
  return own;
}

async function linkAddress(lab: Lab, namespace: string): Promise<string> {
  const { stdout } = await lab.exec(namespace, ["ip", "-6", "address", "show", "dev", "lan0"]);
  return /inet6 (fe80:\S+)\//.exec(stdout)?.[1] ?? "none";
}

async function defaultRoute(lab: Lab, namespace: string, via: string): Promise<void> {
  const route = ["ip", "-6", "route", "replace", "default", "via", via, "dev", "lan0"];
  assert.equal((await lab.exec(namespace, route)).stderr, "");
}
