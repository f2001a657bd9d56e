import { ROUTER, VPN_PORT } from "../../../src/sandbox/topology.ts";
import { answersToStrangers } from "../leaks/strangers.ts";
import { reachFlow } from "../tools/intruder.ts";
import { Probe } from "../tools/probe.ts";
import { questions } from "../tools/question.ts";
import type { Event } from "./trial.ts";

const TUNNEL_GOES = "ip link del $TUNNEL";
const ROUTES_BACK = `
  cat /sys/class/net/$UPLINK/carrier
  ip route replace default via $ROUTER4 dev $UPLINK
  ip -6 route replace default via $ROUTER6 dev $UPLINK`;

const SILENT = `table inet silent {
  chain incoming { type filter hook input priority filter; udp dport ${VPN_PORT} drop; }
}
`;

/** In the order of the table's rows. */
export const EVENTS: readonly Event[] = [
  { name: "the machine boots, and connects", from: "off", isOutside: true, run: async () => {} },
  {
    name: "switch to another server",
    from: "connected",
    isOutside: true,
    run: async (trial) => {
      await trial.disconnects();
      await trial.connects(1);
    },
  },
  {
    name: "disconnect",
    from: "connected",
    isOutside: true,
    run: (trial) => trial.disconnects(),
  },
  {
    name: "switch to a server with IPv4 alone",
    from: "connected",
    isOutside: true,
    run: async (trial) => {
      await trial.disconnects();
      await trial.connects(0, "IPv4 alone");
    },
  },
  {
    name: "the server falls silent",
    from: "connected",
    isOutside: true,
    run: async ({ lab }) => {
      const { stderr } = await lab.exec(lab.namespaces.vpn1, ["nft", "-f", "-"], SILENT);
      if (stderr !== "") throw new Error(stderr);
    },
  },
  {
    name: "the tunnel's link is deleted",
    from: "connected",
    run: (trial) => trial.place.run(TUNNEL_GOES),
  },
  {
    name: "all its programs are killed",
    from: "connected",
    run: (trial) => trial.end("SIGKILL"),
  },
  {
    name: "all its programs are told to end",
    from: "connected",
    run: (trial) => trial.end("SIGTERM"),
  },
  {
    name: "the firewall is flushed, and the tunnel's link deleted",
    from: "connected",
    claim: "a flush",
    run: (trial) => trial.place.run(`nft flush ruleset; ${TUNNEL_GOES}`),
  },
  {
    name: "the uplink goes down and comes up",
    from: "connected",
    run: async (trial) => {
      await trial.place.run("ip link set $UPLINK down");
      await trial.observe();
      await trial.place.run(`ip link set $UPLINK up
        ip address replace $OWN6/64 dev $UPLINK nodad
        ${ROUTES_BACK}`);
    },
  },
  {
    name: "the uplink's cable is pulled and put back",
    from: "connected",
    isOutside: true,
    run: async (trial) => {
      await trial.lab.unplug();
      await trial.observe();
      await trial.plugs();
    },
  },
  {
    name: "the uplink gets another address",
    from: "connected",
    run: (trial) =>
      trial.place.run(`ip address del $OWN4/24 dev $UPLINK
        ip address add 192.168.88.3/24 dev $UPLINK
        ${ROUTES_BACK}`),
  },
  {
    name: "DHCP brings more specific routes (CVE-2024-3661)",
    from: "connected",
    run: (trial) =>
      trial.place.run(`ip route add 203.0.113.64/26 via $ROUTER4 dev $UPLINK
        ip route add 2001:db8:113::80/128 via $ROUTER6 dev $UPLINK`),
  },
  {
    name: "a device asks the home router for names",
    from: "connected",
    isOutside: true,
    run: async ({ lab }) => {
      const { v4, v6 } = ROUTER.lan[2];
      const probe = await Probe.start(lab.namespaces.client, questions([v4, v6]));
      await probe.sends();
      await probe.stop();
    },
  },
  {
    name: "a neighbour sends into a device's flow (CVE-2019-14899)",
    from: "connected",
    isOutside: true,
    run: async ({ lab, entered }) => entered.push(...(await reachFlow(lab))),
  },
  {
    name: "crafted packets of strangers",
    from: "connected",
    isOutside: true,
    run: ({ lab }) => answersToStrangers(lab),
  },
];
