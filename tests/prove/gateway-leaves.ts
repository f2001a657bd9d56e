import type { Policy } from "../../src/killswitch/policy.ts";
import { type Family, ICMPV6, isMulticast, isOneOf, isProtocol } from "./packet.ts";
import { isPermitted, isUnmarked } from "./permitted.ts";
import { asked, type Question } from "./question.ts";
import { both, either, no, within } from "./terms.ts";
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
