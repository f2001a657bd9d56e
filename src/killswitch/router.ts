import { type Address, familyOf, mustParseAddress, prefixOf } from "../base/address.ts";
import { MARK_MASK, ROUTER_MARK } from "../network/slot.ts";
import { byFamily, headerOf, isMarked, on, toEach } from "./match.ts";
import type { Policy } from "./policy.ts";
import type { Rule } from "./routing-rules.ts";

/** Where UPnP is searched: at this port of a router, and in this group, which the kernel sends no further than the cable. */
export const SSDP = { group: mustParseAddress("239.255.255.250"), port: 1900 };
/** Where a router is asked for a port (NAT-PMP and PCP), and where its UPnP is (SSDP), which has no use for IPv6. */
const PORTS = { 4: [SSDP.port, 5351], 6: [5351] } as const;
/** NAT-PMP's and PCP's announcements that ports were lost (RFC 6886, section 3.2.1). */
const ANNOUNCED = "ip daddr 224.0.0.1 udp sport 5351 udp dport 5350";
/** After those of WireGuard's packets to remote devices. */
const PRIORITY = { router: 33, noRouter: 34 };
const MARK = `fwmark 0x${ROUTER_MARK.toString(16)}/0x${MARK_MASK.toString(16)}`;
const UDP = 17;

type Routers = Pick<Policy, "uplink" | "routers" | "searchPort">;

/**
 * The service's requests to the home router to let remote devices in: of the service's own marked sockets, and to
 * the router itself only, except for the search. Answers are those to such a request, or come to the port that searches:
 * some routers answer a search from another port than the one that was asked.
 */
export function permitRouter(direction: "in" | "out", policy: Routers): string[] {
  const { uplink, routers = [] } = policy;
  if (direction === "out")
    return [
      ...routers.flatMap((router) =>
        toEach(uplink, [router]).map(
          (to) =>
            `${to} ${isMarked(ROUTER_MARK)} udp dport ${portsOf(router)} accept comment "requests for a port, to the home router"`,
        ),
      ),
      ...permitSearch(policy),
    ];
  const ipv4 = routers.filter((router) => familyOf(router) === 4);
  return on("iifname", uplink).flatMap((from) => [
    ...answersOf(routers).map(
      (answers) =>
        `${from} ${answers} ct direction reply ct state established accept comment "the home router's answers"`,
    ),
    ...foundBy(policy).map((answers) => `${from} ${answers} accept comment "what the search finds"`),
    ...byFamily("saddr", ipv4).map(
      (router) => `${from} ${router} ${ANNOUNCED} accept comment "the home router has lost its ports"`,
    ),
  ]);
}

/** What the router sends, for reverse-path filtering. */
export function fromRouter(policy: Routers): string[] {
  return [...answersOf(policy.routers), ...foundBy(policy)];
}

function answersOf(routers: readonly Address[] = []): string[] {
  return routers.map(
    (router) => `${headerOf(familyOf(router))} saddr ${router} udp sport ${portsOf(router)}`,
  );
}

function permitSearch({ uplink, searchPort }: Routers): string[] {
  if (searchPort === undefined) return [];
  return toEach(uplink, [SSDP.group]).map(
    (to) =>
      `${to} ${isMarked(ROUTER_MARK)} udp sport ${searchPort} udp dport ${SSDP.port} accept comment "the search for the home router's UPnP"`,
  );
}

function foundBy({ routers = [], searchPort }: Routers): string[] {
  if (searchPort === undefined) return [];
  return byFamily(
    "saddr",
    routers.filter((router) => familyOf(router) === 4),
  ).map((router) => `${router} udp dport ${searchPort}`);
}

/** The same in the other layer: what has the mark leaves for the router's address and these ports, or not at all. */
export function routerRules({ uplink, routers = [] }: Routers): Rule[] {
  if (uplink === null || routers.length === 0) return [];
  return [
    ...routers.flatMap((router) =>
      PORTS[familyOf(router)].map((port) => ({
        family: familyOf(router),
        priority: PRIORITY.router,
        text: `to ${prefixOf(router)} ipproto ${UDP} ${MARK} iif lo dport ${port} lookup main`,
      })),
    ),
    ...([4, 6] as const).map((family) => ({
      family,
      priority: PRIORITY.noRouter,
      text: `${MARK} unreachable`,
    })),
  ];
}

/** Whether a rule is one of these, which a stopped service may have left. */
export function isRouterRule({ priority, text }: Rule): boolean {
  if (priority === PRIORITY.noRouter) return text === `${MARK} unreachable`;
  return (
    priority === PRIORITY.router &&
    new RegExp(`^to \\S+/(32|128) ipproto ${UDP} ${MARK} iif lo dport (1900|5351) lookup main$`).test(text)
  );
}

function portsOf(router: Address): string {
  const ports: readonly number[] = PORTS[familyOf(router)];
  return ports.length === 1 ? `${ports[0]}` : `{ ${ports.join(", ")} }`;
}
