import { ATTACKER_SCENARIOS } from "./attackers.ts";
import { BOOT_SCENARIOS, FLOWS_BEFORE_THE_SERVICE } from "./boot.ts";
import { CHOOSING, CONNECTIONS } from "./connections.ts";
import { DESTINATIONS } from "./destinations.ts";
import { DEVICE_SETS } from "./device-sets.ts";
import { DNS_SCENARIOS } from "./dns.ts";
import { ENDPOINT_SCENARIOS } from "./endpoint.ts";
import { DIRECT_SCENARIOS, EXIT_SCENARIOS } from "./exits.ts";
import { EXITS_IN_ORDER } from "./exits-in-order.ts";
import { FAMILY_SCENARIOS } from "./families.ts";
import { FORWARD_SCENARIOS } from "./forwards.ts";
import type { FreshScenario } from "./fresh.ts";
import { FURTHER_REMOTE_SCENARIOS } from "./further-remote.ts";
import { LINK } from "./homes.ts";
import { IMPOSTORS } from "./impostors.ts";
import { LOST_EXITS } from "./lost-exits.ts";
import { MESH } from "./mesh.ts";
import { NAMED_SCENARIOS } from "./named.ts";
import { NETWORKS } from "./networks.ts";
import { OWN_PROCESS } from "./own-process.ts";
import { REDIRECT_SCENARIOS, REDIRECTS_BY_THE_FIREWALL } from "./redirects.ts";
import { RELOADS_UNDER_A_FLOOD } from "./reload.ts";
import { REMOTE_SCENARIOS } from "./remote.ts";
import { RESTARTS } from "./restarts.ts";
import { PORT_SHADOW } from "./shadow.ts";
import { SHARED_ADDRESSES } from "./shared-addresses.ts";
import { ofMain, type Scenario } from "./stage.ts";
import { STRANGER_SCENARIOS } from "./strangers.ts";
import { TAMPERING, TAMPERING_WITH_MAIN } from "./tampering.ts";
import { TARGETS_IN_ORDER } from "./targets-in-order.ts";
import { WAYS_IN } from "./through-main.ts";
import { scenarioOf } from "./transitions.ts";
import { UPLINK_SCENARIOS } from "./uplink.ts";

/** Everything that is played on a stage, in this order. */
export const SCENARIOS: readonly Scenario[] = [
  ...ofMain(CONNECTIONS),
  ...ofMain(CHOOSING),
  ...ofMain(RESTARTS),
  ...ofMain(TAMPERING_WITH_MAIN),
  ...TAMPERING,
  ...UPLINK_SCENARIOS,
  ...ofMain(ENDPOINT_SCENARIOS),
  ...ofMain(FAMILY_SCENARIOS),
  ...ofMain(DNS_SCENARIOS),
  ...REDIRECT_SCENARIOS,
  ...ATTACKER_SCENARIOS,
  ...STRANGER_SCENARIOS,
  ...EXIT_SCENARIOS,
  ...EXITS_IN_ORDER,
  ...DIRECT_SCENARIOS,
  ...DEVICE_SETS,
  ...IMPOSTORS,
  ...LOST_EXITS,
  ...NAMED_SCENARIOS,
  ...DESTINATIONS,
  ...FORWARD_SCENARIOS,
  ...REMOTE_SCENARIOS,
];

const PHONES = /\bphones?\b/;
/**
 * The same in another state, at another moment, or by another way to the same end; and phones, whose tunnels take all the
 * time of two processors.
 */
const OMITTED = [
  /^(?!nft flush|DNS).* while blocked/,
  /while (main is blocked|reconnecting|connecting|the second tunnel is down)/,
  /^(disconnect during|30 switches|connect to a country of several servers while blocked)/,
  /^the service gets (SIGTERM|SIGKILL while blocked)|moments of a/,
  /^the tunnel's (link is taken down|addresses are|routes are)/,
  /^the table is switched off|^the last rule of each chain/,
  /^the uplink (goes down|gets another address)/,
  /^a tunnel with an IPv. address alone/,
  /^DNS (over IPv4 in|to every resolver after|of the direct device)/,
  /^ARP for the tunnel's address/,
  /^the second tunnel(.s process|.s server| is (removed|switched|led))|^the service ends/,
  /a rule by name (goes down|leads (to main|the blocked device))/,
  PHONES,
  /^(a failed switch to a server with|connect to a country of|packets of the old tunnel's connections at)/,
  /^(the table is deleted|a table of another program|a public prefix appears|hosts with private addresses)/,
  /^a tunnel with both addresses|^DNS to every resolver while (switching|blocked)|^no ICMP redirect/,
  /^packets in the shape of DHCP|^a device that finds the gateway by a public IPv6 address/,
  /^the (direct device is moved|operator (withdraws|turns)|sets of devices|database)/,
  /^who is not the direct device|^packets of the direct device|^devices with a rule each/,
  /^the table is flushed, and rules come and go/,
  /^a rule by name leads|^a port is forwarded to a device, which is moved/,
  /^a device with several exits/,
];
const isOmitted = ({ name }: Scenario) => OMITTED.some((words) => words.test(name));
/** What the suite plays. `scripts/leaks` plays all. */
export const SUITE_SCENARIOS: readonly Scenario[] = SCENARIOS.filter((each) => !isOmitted(each));
/** What takes long; the report plays it after the others. */
export const FURTHER_SCENARIOS: readonly Scenario[] = [
  ...FURTHER_REMOTE_SCENARIOS,
  ...WAYS_IN,
  ...SHARED_ADDRESSES,
  ...TARGETS_IN_ORDER,
  PORT_SHADOW,
];

/** What of phones no lab plays. */
const WITHOUT_LAB = /^a remote phone(, | whose)|^a phone that is at home/;
/** What `scripts/test --long` plays besides; but most of what phones do has labs of its own. */
export const OMITTED_SCENARIOS: readonly Scenario[] = [...SCENARIOS, ...FURTHER_SCENARIOS].filter(
  (each) => isOmitted(each) && (!PHONES.test(each.name) || WITHOUT_LAB.test(each.name)),
);

/** Everything that needs a lab of its own. */
export const FRESH_SCENARIOS: readonly FreshScenario[] = [
  ...BOOT_SCENARIOS,
  OWN_PROCESS,
  FLOWS_BEFORE_THE_SERVICE,
  REDIRECTS_BY_THE_FIREWALL,
  RELOADS_UNDER_A_FLOOD,
  scenarioOf(NETWORKS),
  scenarioOf(MESH),
  scenarioOf(LINK),
];
