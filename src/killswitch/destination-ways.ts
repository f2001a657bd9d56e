import { DIRECT_MARK } from "../network/slot.ts";
import { DESTINATION_ZONE, DIRECT } from "./direct.ts";
import { TO_RESOLVER } from "./dns.ts";
import { BLOCKED_DEVICES, chainOf, NO_DEVICE } from "./exits.ts";
import { chain, setMark } from "./match.ts";
import { type Destination, type Exit, leadsToDirect, type Policy } from "./policy.ts";

export const OWN = 'comment "a destination with an exit of its own"';
const LEAVE = "leave_by_";

/** The chain that leads traffic to some destinations out of the tunnel; only then the table has it. */
export const LEAVE_DIRECTLY = `${LEAVE}${DIRECT}`;

/** The chains by which these destinations leave. */
export function leaves(destinations: readonly Destination[], policy: Policy): string[] {
  const exits = new Map(destinations.map(({ exit }) => [leaveBy(exit, policy), exit]));
  return [...exits]
    .filter(([name]) => name.startsWith(LEAVE))
    .map(([name, exit]) =>
      chain(name, null, [
        `${TO_RESOLVER} return comment "DNS takes the exit of its device"`,
        `ether saddr & ${NO_DEVICE} != @${BLOCKED_DEVICES} goto ${chainOf({ to: "blocked" }, policy)} comment "the set was emptied: nobody knows which devices are blocked"`,
        ...(exit.to === "direct" ? leaveDirectly() : [`goto ${chainOf(exit, policy)} ${OWN}`]),
      ]),
    );
}

/** What is blocked, or has no way out now, is refused whatever it is. */
export function leaveBy(exit: Exit, policy: Policy): string {
  const refused = chainOf({ to: "blocked" }, policy);
  switch (exit.to) {
    case "direct":
      return leadsToDirect(policy) ? LEAVE_DIRECTLY : refused;
    case "blocked":
      return refused;
    case "tunnel":
      return chainOf(exit, policy) === refused ? refused : `${LEAVE}${exit.name}`;
  }
}

function leaveDirectly(): string[] {
  return [
    `${setMark(DIRECT_MARK)} comment "the mark selects the machine's own routes"`,
    `ct original zone set ${DESTINATION_ZONE} accept comment "these connections end with the rules"`,
  ];
}
