import assert from "node:assert/strict";
import { INTERNET, TUNNEL, VPN, VPN_PORT } from "../../../src/sandbox/topology.ts";
import { type Outcome, Probe, type Target } from "../tools/probe.ts";
import { askerIn, questions } from "../tools/question.ts";
import { succeeds } from "./connections.ts";
import { resolversFor } from "./questions.ts";
import type { Scenario, Stage } from "./stage.ts";
import { UNLIMITED } from "./strangers.ts";

/** The service sees a lost tunnel by the kernel's events, and by a look every few seconds. */
const STATE_WITHIN_MS = 60_000;
/** A VPN server that hears nothing of its customers. */
export const DEAF = `table inet deaf {
  chain incoming {
    type filter hook prerouting priority raw;
    udp dport 51820 drop
  }
}
`;
/** Nobody answers there. */
const DEAD = "203.0.113.99";

/**
 * Questions for names from client and gateway, to the gateway, to resolvers on the internet and to the home router,
 * over UDP and TCP, IPv4 and IPv6. An answer comes through the tunnel or not at all, and it says from where it was asked.
 */
export const DNS_SCENARIOS: readonly Scenario[] = [
  {
    name: "DNS to every resolver while blocked",
    cards: [2, 1],
    from: "blocked",
    run: (stage) => asked(stage, async () => {}, []),
  },
  {
    name: "DNS to every resolver while connected",
    cards: [2, 1],
    from: "connected",
    run: (stage) => asked(stage, async () => {}, [VPN.vpn1.v4, VPN.vpn1.v6]),
  },
  {
    name: "DNS over IPv4 in a tunnel whose only resolver has an IPv6 address, and over IPv6 in the others",
    cards: [2, 1],
    from: "connected",
    run: async (stage) => {
      await stage.inside("sysctl", "-qw", ...UNLIMITED);
      await refusedOver(INTERNET.dns6);
      await addServer(stage, "IPv6 resolver", `${VPN.vpn1.v4}:${VPN_PORT}`, { dns: TUNNEL.server6 });
      await succeeds(stage.connect("IPv6 resolver"));
      await refusedOver(INTERNET.dns4);

      /** Refused at once, over UDP and TCP, from client and gateway; what the other family's resolver says comes. */
      async function refusedOver(resolver: string) {
        const other = resolver === INTERNET.dns4 ? INTERNET.dns6 : INTERNET.dns4;
        const targets = questions([resolver, other]);
        for (const namespace of [stage.lab.namespaces.client, stage.lab.namespaces.gateway]) {
          const probe = await Probe.start(namespace, targets);
          await probe.sends();
          await probe.until(
            ({ target, answered, refused }) => (target.address === other ? answered : refused) > 0,
          );
          for (const outcome of await probe.stop()) {
            if (outcome.target.address === resolver)
              assert.equal(outcome.answered, 0, JSON.stringify([namespace, outcome]));
          }
        }
      }
    },
  },
  {
    name: "DNS to every resolver while connecting",
    cards: [2, 1],
    from: "blocked",
    allowed: (leak) => isHandshakeTo(DEAD, leak),
    run: async (stage) => {
      await addServer(stage, "silent", `${DEAD}:51820`);
      await asked(stage, async () => {
        const connecting = stage.connect("silent");
        await stage.observe(40);
        assert.equal((await stage.disconnect()).status, 200);
        assert.equal((await connecting).status, 500);
      }, []);
    },
  },
  {
    name: "DNS to every resolver while switching there and back",
    cards: [2, 1],
    from: "connected",
    run: (stage) =>
      asked(
        stage,
        async () => {
          for (const server of ["box-vpn-2", "box-vpn-1"]) {
            assert.equal((await stage.connect(server)).status, 200);
          }
        },
        Object.values(VPN).flatMap(({ v4, v6 }) => [v4, v6]),
      ),
  },
  {
    name: "DNS to every resolver after a connect that failed",
    cards: [2, 1],
    from: "blocked",
    allowed: isLookup,
    run: async (stage) => {
      await addServer(stage, "nowhere", "nowhere.test:51820");
      assert.equal((await stage.connect("nowhere")).status, 500);
      assert.equal((await stage.status()).state, "failed");
      await asked(stage, async () => {}, []);
    },
  },
  {
    name: "DNS to every resolver while reconnecting",
    cards: [2],
    from: "connected",
    run: async (stage) => {
      const { vpn1 } = stage.lab.namespaces;
      assert.equal((await stage.lab.exec(vpn1, ["nft", "-f", "-"], DEAF)).stderr, "");
      try {
        await stage.inside("ip", "link", "del", `${stage.lab.sandbox.interface}0`);
        await untilState(stage, "reconnecting");
        await asked(stage, async () => {}, []);
      } finally {
        await stage.lab.exec(vpn1, ["nft", "delete", "table", "inet", "deaf"]);
        await stage.disconnect();
      }
    },
  },
];

/**
 * Asks throughout `work` and often enough after it; `seenAs` are the addresses from which the internet may see the
 * questions.
 */
async function asked(stage: Stage, work: () => Promise<unknown>, seenAs: readonly string[]): Promise<void> {
  const { client, gateway } = stage.lab.namespaces;
  const probes = await Promise.all([
    Probe.start(client, questions(resolversFor(stage, "client"))),
    Probe.start(gateway, questions(resolversFor(stage, "gateway"))),
  ]);
  await work();
  await Promise.all(probes.map((probe) => probe.sends()));
  if (seenAs.length > 0) {
    const isAnswered = ({ target, answered }: Outcome) => !isRedirected(target) || answered > 0;
    await Promise.all(probes.map((probe) => probe.until(isAnswered)));
  }
  const outcomes = (await Promise.all(probes.map((probe) => probe.stop()))).flat();
  for (const outcome of outcomes) assertOutcome(outcome, seenAs);
}

/** Every question of a LAN client or of the gateway that the tunnel's resolver, which has an IPv4 address, answers. */
function isRedirected({ protocol, address }: Target): boolean {
  return protocol === "udp" && !address.includes(":");
}

function assertOutcome({ target, ...outcome }: Outcome, seenAs: readonly string[]): void {
  const question = `a question over ${target.protocol} to ${target.address}`;
  assert(outcome.sent > 0);
  if (outcome.answered > 0) {
    const asker = askerIn(outcome.answer);
    assert(seenAs.includes(asker), `${question} is answered, and came from ${asker}`);
  }
  // The tunnel's resolver answers for every other over IPv4, and nobody answers over IPv6.
  if (target.address.includes(":")) assert.equal(outcome.answered, 0, `${question} is answered`);
}

async function addServer(stage: Stage, name: string, endpoint: string, differs = {}): Promise<void> {
  const [{ customBody }] = stage.lab.sandbox.servers;
  // It may be there from an earlier play.
  await stage.request("/api/custom/add", { ...customBody, name, endpoint, ...differs });
  await stage.request("/api/provider/custom");
}

async function untilState(stage: Stage, state: string): Promise<void> {
  const deadline = performance.now() + STATE_WITHIN_MS;
  while ((await stage.status()).state !== state) {
    assert(performance.now() < deadline, `the service does not get ${state}`);
    await Bun.sleep(100);
  }
}

function isHandshakeTo(address: string, leak: string): boolean {
  return leak.includes(` > ${address} UDP `) && leak.endsWith(" > 51820, 148 bytes");
}

/** The service's own question, from the ports that no other program has by chance. */
function isLookup(leak: string): boolean {
  return /^\S+ > \S+ UDP 2\d{4} > 53, \d+ bytes$/.test(leak);
}
