import { openRulesetOf } from "../../src/killswitch/ruleset.ts";
import { POLICIES } from "../killswitch/example.ts";
import { type State, stateOf, transition } from "./state.ts";

// States that follow each other.

const { connected } = POLICIES;

const STATES = {
  ...Object.fromEntries(Object.entries(POLICIES).map(([name, policy]) => [name, stateOf(name, policy)])),
  off: stateOf("off", connected, openRulesetOf(connected)),
  "another uplink": stateOf("another uplink", { ...connected, uplink: "up1" }),
};

const PAIRS: readonly (readonly [string, string])[] = [
  ["off", "connected"],
  ...bothWays("connecting", "connected"),
  ...bothWays("connected", "switching"),
  ...bothWays("blocked", "connected"),
  ...bothWays("connected", "direct"),
  ...bothWays("connected", "another uplink"),
  ...bothWays("connected", "one-armed-connected"),
  ...bothWays("one-armed-connected", "one-armed-direct"),
  ...bothWays("forwards", "two-tunnels"),
  ...bothWays("connected", "remote"),
  ...bothWays("two-tunnels", "networks"),
];

export function transitions(): State[] {
  return PAIRS.map(([before, after]) => transition(known(before), known(after)));
}

function bothWays(one: string, other: string): [string, string][] {
  return [
    [one, other],
    [other, one],
  ];
}

function known(name: string): State {
  const state = Object.entries(STATES).find(([other]) => other === name)?.[1];
  if (state === undefined) throw new Error(`no state is called ${name}`);
  return state;
}
