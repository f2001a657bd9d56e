import { contains, familyOf } from "../../src/base/address.ts";
import type { FirewallTunnel, Policy } from "../../src/killswitch/policy.ts";
import { hasExit, isIn } from "./exits.ts";
import { type Family, isOneOf, isProtocol, isState, type Packet, TCP, UDP } from "./packet.ts";
import { isPermittedIn, isToRemoteSocket } from "./permitted.ts";
import { asked, clientsOf, isInside, lanNames, type Question } from "./question.ts";
import { both, either, FALSE, no, same, type Term, TRUE, within } from "./terms.ts";
import type { Walks } from "./walks.ts";

// The questions about what comes from outside.

/** (d) What comes from outside reaches a socket of the gateway's only as an answer, or at WireGuard's port. */
export function reachesGateway(walks: Walks, policy: Policy, family: Family): Question[] {
  const { uplink, endpoints } = policy;
  const tunnels = [...new Set(endpoints.map((each) => each.interface))];
  const outside = [...(uplink === null ? [] : [uplink]), ...tunnels];
  const isCable = uplink !== null && lanNames(policy).includes(uplink);
  return outside.map((from) => {
    const walk = walks.delivered(family, from);
    const { packet } = walk;
    const isAnswer = both(packet.isTracked, isState(packet, "established", "related"));
    const known =
      from === uplink
        ? either(isPermittedIn(policy, packet), isCable ? isOfDevice(policy, packet) : FALSE)
        : either(isAnswer, isToRemoteSocket(policy, packet, from));
    return asked("d", `${from} > gateway`, walk, no(known));
  });
}

/** With one card, devices send by the uplink's cable, and some ask for an address first. */
function isOfDevice(policy: Policy, { src, sport, dport, protocol, family }: Packet): Term {
  const asks = both(same(protocol, UDP), same(sport, 68), same(dport, 67));
  return either(isInside(policy, src, family), family === 4 ? asks : FALSE);
}

/** (d) CVE-2019-14899: only its server sends to a tunnel's address, and to nothing else. */
export function reachesTunnelAddress(walks: Walks, policy: Policy, family: Family): Question[] {
  const { endpoints } = policy;
  return walks.links
    .filter((link) => link !== "lo")
    .map((from) => {
      const walk = walks.delivered(family, from);
      const own = endpoints.filter((each) => each.interface === from);
      const others = endpoints.filter((each) => each.interface !== from);
      const isOf = (tunnels: readonly FirewallTunnel[]) =>
        either(...tunnels.map(({ addresses }) => isOneOf(walk.packet.start.dst, addresses, family)));
      const wrong = own.length > 0 ? no(isOf(own)) : isOf(others);
      return asked("d", `${from} > a tunnel's address`, walk, wrong);
    });
}

/** (d) No host of the LAN has the gateway's own address: the kernel does not check sources there. */
export function sharesOwnAddress(walks: Walks, { lans, addresses }: Policy, family: Family): Question[] {
  if (family === 6) return [];
  return lans.flatMap(({ interface: lan, prefixes }) => {
    const own = addresses.filter((address) => prefixes.some((prefix) => contains(prefix, address)));
    if (own.length === 0) return [];
    const walk = walks.delivered(family, lan);
    const { src, dst } = walk.packet.start;
    return asked(
      "d",
      `${lan} > gateway, with its address`,
      walk,
      both(isOneOf(src, own, family), isOneOf(dst, own, family)),
    );
  });
}

/** (e) What comes from outside reaches a device only as an answer, or by a forwarded port; and no other way out. */
export function comesIn(walks: Walks, policy: Policy, family: Family): Question[] {
  const { uplink, remote } = policy;
  const [inside, lans] = [clientsOf(policy), lanNames(policy)];
  const tunnels = [...new Set(policy.endpoints.map((each) => each.interface))];
  const outside = [...(uplink === null || lans.includes(uplink) ? [] : [uplink]), ...tunnels];
  const answers = outside.flatMap((from) =>
    inside.map((to) => {
      const walk = walks.forwarded(family, from, to);
      return asked(
        "e",
        `${from} > ${to}`,
        walk,
        no(either(isKnownAnswer(walk.packet), isForwarded(policy, walk.packet, from))),
      );
    }),
  );
  // Back into the same tunnel: of states only.
  const ofState = walks.machine.earlier === null;
  const across = outside.flatMap((from) =>
    outside
      .filter((to) => to !== from || from === uplink || ofState)
      .map((to) => asked("e", `${from} > ${to}`, walks.forwarded(family, from, to), TRUE)),
  );
  return [
    ...answers,
    ...across,
    ...(remote === undefined ? [] : fromRemote(walks, policy, family, remote.interface)),
    ...toRemote(walks, policy, family),
  ];
}

/** Without the firewall, nothing that comes from outside reaches a device at all, or leaves again but on its cable. */
export function comesInUnmarked(walks: Walks, policy: Policy, family: Family): Question[] {
  const [inside, lans] = [clientsOf(policy), lanNames(policy)];
  const tunnels = [...new Set(policy.endpoints.map((each) => each.interface))];
  const outside = [
    ...(policy.uplink === null || lans.includes(policy.uplink) ? [] : [policy.uplink]),
    ...tunnels,
  ];
  const { remote } = policy;
  const links = remote?.homes === undefined ? [] : [remote.interface];
  return [
    ...outside.flatMap((from) =>
      inside.map((to) => asked("e", `${from} > ${to}`, walks.forwarded(family, from, to), TRUE)),
    ),
    ...outside.flatMap((from) =>
      outside.map((to) => {
        const walk = walks.forwarded(family, from, to);
        const isNear = family === 6 && from === to ? within(walk.packet.dst, 0xfe80n << 112n, 10) : FALSE;
        return asked("e", `${from} > ${to}`, walk, no(isNear));
      }),
    ),
    ...links.flatMap((from) =>
      lans.map((to) => {
        const walk = walks.forwarded(family, from, to);
        const isHomes = either(
          ...homesOf(policy, family).map((home) => isOfHome(walk.packet.start.src, home)),
        );
        return asked("e", `${from} > ${to}, from another home`, walk, isHomes);
      }),
    ),
  ];
}

type Home = NonNullable<NonNullable<Policy["remote"]>["homes"]>[number];

/** The homes with what each has of a family. */
function homesOf({ remote }: Policy, family: Family): Home[] {
  return (remote?.homes ?? []).map(({ prefixes, reaches, ...home }) => ({
    ...home,
    prefixes: prefixes.filter((each) => familyOf(each) === family),
    reaches: reaches.filter((each) => familyOf(each) === family),
  }));
}

function isOfHome(address: Term, { prefixes }: Home): Term {
  return either(...prefixes.map((prefix) => isIn(address, prefix)));
}

/** What another home sends to a device that it may reach, or answers. */
function isFromHome(policy: Policy, packet: Packet, family: Family, lan: string): Term {
  const own = policy.lans.filter((each) => each.interface === lan).flatMap(({ prefixes }) => prefixes);
  return either(
    ...homesOf(policy, family).map((home) => {
      const reached = home.reaches.filter((address) => own.some((prefix) => contains(prefix, address)));
      const may = either(isOneOf(packet.dst, reached, family), isKnownAnswer(packet));
      return both(isOfHome(packet.start.src, home), may);
    }),
  );
}

/** What begins on a LAN with the page, for another home. */
function isToHome(policy: Policy, packet: Packet, family: Family, lan: string): Term {
  const isOpen = policy.networks?.find((each) => each.interface === lan)?.page ?? true;
  if (!isOpen) return FALSE;
  const own = policy.lans.filter((each) => each.interface === lan).flatMap(({ prefixes }) => prefixes);
  const isOwn = either(
    ...own.filter((each) => familyOf(each) === family).map((each) => isIn(packet.start.src, each)),
  );
  return both(
    isOwn,
    packet.isTracked,
    either(...homesOf(policy, family).map((home) => isOfHome(packet.dst, home))),
  );
}

/**
 * (e) A remote device reaches the LAN only if it may, another home only the devices that it may, and neither another one;
 * the LAN begins only what is for another home.
 */
function fromRemote(walks: Walks, policy: Policy, family: Family, link: string): Question[] {
  const may = (policy.remote?.devices ?? []).filter(({ lan }) => lan).flatMap(({ addresses }) => addresses);
  return [
    ...lanNames(policy).flatMap((lan) => {
      const [there, back] = [walks.forwarded(family, link, lan), walks.forwarded(family, lan, link)];
      // With one card, what is direct leaves there as well.
      const isDirect = lan === policy.uplink ? hasExit(policy, there.packet, "direct") : FALSE;
      return [
        asked(
          "e",
          `${link} > ${lan}`,
          there,
          both(
            no(isOneOf(there.packet.start.src, may, family)),
            no(isDirect),
            no(isFromHome(policy, there.packet, family, lan)),
          ),
        ),
        asked(
          "e",
          `${lan} > ${link}`,
          back,
          no(either(isKnownAnswer(back.packet), isToHome(policy, back.packet, family, lan))),
        ),
      ];
    }),
    asked("e", `${link} > ${link}`, walks.forwarded(family, link, link), TRUE),
  ];
}

/** (e) What is for a remote device never leaves by the uplink: with one card, that is where the LAN is. */
function toRemote(walks: Walks, { uplink, remote }: Policy, family: Family): Question[] {
  if (uplink === null || remote === undefined) return [];
  const networks = remote.networks.filter((network) => familyOf(network) === family);
  return walks.links
    .filter((link) => link !== "lo")
    .map((from) => {
      const walk = walks.forwarded(family, from, uplink);
      const isForRemote = either(...networks.map((network) => isIn(walk.packet.dst, network)));
      return asked("e", `${from} > ${uplink}, for remote devices`, walk, isForRemote);
    });
}

/** What a forwarded port leads to a device, and errors about that. */
function isForwarded({ forwards, addresses }: Policy, packet: Packet, from: string): Term {
  const own = forwards.filter((each) => each.interface === from && familyOf(each.to) === packet.family);
  if (own.length === 0) return FALSE;
  const led = own.map(({ protocol, inside, to, port }) =>
    both(
      isProtocol(packet, protocol === "tcp" ? TCP : UDP),
      same(packet.original.dport, inside),
      isOneOf(packet.dst, [to], packet.family),
      same(packet.dport, port),
    ),
  );
  // A device's answer to one of the gateway's addresses would end at the gateway.
  const isOwn = both(packet.isFirst, isOneOf(packet.start.src, addresses, packet.family));
  return both(either(...led, isState(packet, "related")), no(isOwn));
}

function isKnownAnswer(packet: Packet): Term {
  return both(packet.isReply, isState(packet, "established", "related"));
}
