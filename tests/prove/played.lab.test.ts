import { expect } from "bun:test";
import { needsNamespaces } from "../fast.ts";
import { POLICIES } from "../killswitch/example.ts";
import { mutantWith } from "./mutants.ts";
import { play } from "./played.ts";
import { ask, exampleFor, nameOf } from "./proof.ts";
import { stateOf } from "./state.ts";

const TIMEOUT_MS = 600_000;

needsNamespaces.test.skipIf(Bun.which("z3") === null)(
  "the packet that refutes a ruleset with a mistake leaves a machine with that ruleset, and none with the right one",
  async () => {
    const connected = stateOf("connected", POLICIES.connected);
    const { state } = mutantWith(
      connected,
      "a match less",
      'jump into_wg0 comment "only between the LAN and the tunnels", without oifname',
    );
    const only = ["(a) IPv4 lan0 > up0"];
    const { answers } = await ask(state, "the firewall alone", only);
    const [answer] = answers;
    const model = answer === undefined || answer.holds ? null : await exampleFor(answer);
    if (answer === undefined || model === null) throw new Error("the ruleset is not refuted");
    expect(nameOf(answer.question)).toBe("(a) IPv4 lan0 > up0");
    const packet = { iif: "lan0", oif: "up0", packet: answer.question.walk.packet, model };
    expect(await play(state, packet)).toHaveLength(1);
    expect(await play(connected, packet)).toEqual([]);
  },
  TIMEOUT_MS,
);
