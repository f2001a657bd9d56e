import assert from "node:assert/strict";
import { join } from "node:path";
import { INTERNET, LAN, UPLINK, VPN } from "../../../src/sandbox/topology.ts";
import type { Gateway } from "../tools/lab.ts";
import { until } from "../tools/until.ts";
import type { Fresh, FreshScenario } from "./fresh.ts";
import { INSIDER_PORTS, INSIDER_SAYS } from "./insider.ts";
import { starterFor } from "./layer.ts";

/** The service from its sources, with something in its process that takes the short way. */
const PROGRAM = [
  ...[process.execPath, "--preload", join(import.meta.dir, "insider.ts")],
  join(import.meta.dir, "../../../src/main.ts"),
];
/** The program starts in a second, and slower if other tests run at the same time. */
const SAID_WITHIN_MS = 60_000;

/** Look-ups, HTTPS and probes leave from the service's own process, so the sniffer is judged by what leaves from there. */
export const OWN_PROCESS: FreshScenario = {
  name: "the service's own process sends a request and datagrams that do not ask for the tunnel",
  cards: [2, 1],
  run: async (fresh) => {
    const { lab } = fresh;
    const bare = await lab.startGateway({ program: PROGRAM, starter: await starterFor(lab, "neither") });
    const { leaks } = await fresh.during(() => sent(bare));
    for (const kind of leaksOf(fresh))
      assert(
        leaks.some((line) => kind.test(line)),
        `positive control: no ${kind} in ${leaks.join("; ")}`,
      );
    await bare.kill("SIGKILL");
    const gateway = await lab.startGateway({ program: PROGRAM });
    await fresh.guarded(async () => {
      assert.equal(await sent(gateway), "no answer");
      const { status } = await gateway.api("POST", "/api/connect", { server: "box-vpn-1" });
      assert.equal(status, 200);
      assert.match(await sent(gateway), new RegExp(VPN.vpn1.v4));
    });
  },
};

/** Returns the page that the service's process got, once that has tried everything. */
async function sent(gateway: Gateway): Promise<string> {
  const said = () =>
    gateway
      .log()
      .split("\n")
      .filter((line) => line.startsWith(INSIDER_SAYS));
  const before = said().length;
  process.kill(gateway.pid, "SIGUSR2");
  await until(() => said().length > before, SAID_WITHIN_MS);
  return said().at(-1)?.slice(INSIDER_SAYS.length) ?? "";
}

/** In the sniffer's words. */
function leaksOf({ cards }: Fresh): RegExp[] {
  const own = (cards === 1 ? LAN : UPLINK).gateway4;
  const { unbound, bound, web } = INSIDER_PORTS;
  const kinds = [`UDP \\d+ > ${unbound}, .*`, `UDP \\d+ > ${bound}, .*`, `TCP \\d+ > ${web}`];
  return kinds.map((kind) => new RegExp(`^${own} > ${INTERNET.host4} ${kind}$`));
}
