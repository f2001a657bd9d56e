import { knownOf, useAnswer } from "./answers.ts";
import { type ExitState, exitOf } from "./exit.ts";
import { ruleAhead } from "./sentence.ts";

/** Whether the operator has turned the kill switch off. */
export function useKillSwitchOff(): boolean {
  return knownOf(useAnswer("killswitch"))?.wanted === false;
}

/** Whether another program's routing rule leads devices past the tunnels, where the firewall stops them. */
export function useIsDiverted(): boolean {
  const killswitch = knownOf(useAnswer("killswitch"));
  return killswitch?.wanted === true && ruleAhead(killswitch) !== null;
}

/** Where each exit leads now. */
export function useExits(): (exit: string) => ExitState {
  const tunnels = knownOf(useAnswer("tunnels"))?.tunnels ?? [];
  const isOff = useKillSwitchOff();
  return (exit) => exitOf(exit, tunnels, isOff);
}
