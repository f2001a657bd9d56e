import { isExposed, ruleAhead } from "../shared/verdict.ts";
import { knownOf, useAnswer } from "./answers.ts";
import { type ExitState, exitOf } from "./exit.ts";
import type { Option } from "./parts/option.ts";
import { givenExits } from "./schedule.ts";

/** Whether the operator has turned the kill switch off. */
export function useKillSwitchOff(): boolean {
  return knownOf(useAnswer("killswitch"))?.wanted === false;
}

/** Whether the kernel has no whole kill switch: because it was turned off, or although it should be on. */
export function useIsOpen(): boolean {
  const isOff = useKillSwitchOff();
  return knownOf(useAnswer("status"))?.killswitch_active === false || isOff;
}

/** Whether devices might leave outside the tunnels, as the page's first line says it. */
export function useIsExposed(): boolean {
  const killswitch = knownOf(useAnswer("killswitch"));
  const isOpen = useIsOpen();
  return killswitch === null ? isOpen : isExposed(killswitch);
}

/** Whether another program's routing rule leads devices past the tunnels, where the firewall stops them. */
export function useIsDiverted(): boolean {
  const killswitch = knownOf(useAnswer("killswitch"));
  return killswitch?.wanted === true && ruleAhead(killswitch) !== null;
}

/** Where each exit leads now. */
export function useExits(): (exit: string) => ExitState {
  const tunnels = knownOf(useAnswer("tunnels"))?.tunnels ?? null;
  const isOff = useIsExposed();
  return (exit) => exitOf(exit, tunnels, isOff);
}

/** Exits as a choice. */
export function useExitOptions(): (exits: readonly string[]) => Option[] {
  const exitOf = useExits();
  return (exits) => exits.map((value) => ({ value, text: exitOf(value).text }));
}

/** The schedules that have given devices their exits, by the ids of those; null while it is not known. */
export function useGivenExits(): ReadonlyMap<string, string> | null {
  const list = knownOf(useAnswer("schedules"));
  return list && givenExits(list.schedules);
}
