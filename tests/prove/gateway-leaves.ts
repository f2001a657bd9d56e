import { familyOf, type Prefix } from "../../src/base/address.ts";
import type { Policy } from "../../src/killswitch/policy.ts";
import { isIn } from "./exits.ts";
import { type Family, ICMP, ICMPV6, isMulticast, isOneOf, isProtocol, isReset, TCP, UDP } from "./packet.ts";
import { isFromRemoteSocket, isPermitted, isUnmarked } from "./permitted.ts";
import { asked, type Question } from "./question.ts";
import { both, either, FALSE, no, same, type Term, within } from "./terms.ts";
import type { Sent } from "./walk.ts";
import type { Walks } from "./walks.ts";

// The questions about what the gateway itself sends.

/** (c) What leaves of the gateway's own by the uplink. */
export function ownLeaves(walks: Walks, policy: Policy, family: Family): Question[] {
  const { uplink } = policy;
  if (uplink === null) return [];
  return walks
    .boundTo(uplink)
    .flatMap((bound) =>
      walks
        .sent(family, uplink, bound)
        .map((walk) =>
          asked(
            "c",
            `gateway > ${uplink}, first ${walk.first}${bound === null ? "" : ", bound"}`,
            walk,
            no(isPermitted(policy, walk.packet)),
          ),
        ),
    );
}

/** (c) By routing alone: of programs that are bound to nothing and may set no mark, and not what asks no rule. */
export function ownLeavesUnmarked(walks: Walks, policy: Policy, family: Family): Question[] {
  const { uplink } = policy;
  if (uplink === null) return [];
  return walks.sent(family, uplink).map((walk) => {
    const { packet } = walk;
    // What is for a link-local address stays on the cable.
    const asksNoRule = either(
      isMulticast(packet),
      family === 4
        ? walks.isBroadcast(packet, uplink)
        : either(isProtocol(packet, ICMPV6), within(packet.dst, 0xfe80n << 112n, 10)),
    );
    return asked(
      "c",
      `gateway > ${uplink}`,
      walk,
      both(isUnmarked(packet), no(asksNoRule), no(isPermitted(policy, packet))),
    );
  });
}

/** (c) What the gateway itself sends into a tunnel has the tunnel's own address. */
export function ownEntersTunnel(walks: Walks, policy: Policy, family: Family): Question[] {
  return policy.carrying.flatMap((tunnel) =>
    walks
      .sent(family, tunnel.interface)
      .map((walk) =>
        asked(
          "c",
          `gateway > ${tunnel.interface}, first ${walk.first}`,
          walk,
          no(isOneOf(walk.packet.src, tunnel.addresses, family)),
        ),
      ),
  );
}

/** (c) No redirect tells a device to go past the gateway. The kernel sends none by the loopback (ip_rt_send_redirect). */
export function redirectsDevices(walks: Walks, policy: Policy, family: Family): Question[] {
  const [protocol, type] = family === 4 ? [ICMP, 5] : [ICMPV6, 137];
  return toLans(walks, policy, family, "c", "a redirect", ({ packet, first }) =>
    first === "lo" ? FALSE : both(isProtocol(packet, protocol), packet.hasPorts, same(packet.icmpType, type)),
  );
}

/** (f) Nor does the gateway ask a resolver there, which would ask the internet by an exit of its own. */
export function asksLan(walks: Walks, policy: Policy, family: Family): Question[] {
  return toLans(walks, policy, family, "f", "a question for a name", ({ packet }, prefixes) =>
    both(
      isProtocol(packet, TCP, UDP),
      packet.hasPorts,
      no(isReset(packet)),
      no(isFromRemoteSocket(policy, packet)),
      either(same(packet.dport, 53), same(packet.dport, 853)),
      either(...prefixes.map((each) => isIn(packet.dst, each))),
    ),
  );
}

/** What is wrong of a packet to devices. */
function toLans(
  walks: Walks,
  { lans }: Policy,
  family: Family,
  property: Question["property"],
  what: string,
  wrong: (walk: Sent, prefixes: readonly Prefix[]) => Term,
): Question[] {
  return lans.flatMap(({ interface: link, prefixes }) => {
    const own = prefixes.filter((each) => familyOf(each) === family);
    return walks
      .sent(family, link)
      .map((walk) =>
        asked(property, `gateway > ${link}, first ${walk.first}, ${what}`, walk, wrong(walk, own)),
      );
  });
}
