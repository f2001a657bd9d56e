import { expect } from "bun:test";
import { long, needsNamespaces } from "../fast.ts";
import { POLICIES } from "../killswitch/example.ts";
import { Laboratory } from "./crafted.ts";
import { mutantsOf, mutantWith, OF_RULESET } from "./mutants.ts";
import { play } from "./played.ts";
import { ask, exampleFor, nameOf } from "./proof.ts";
import { shuffled } from "./sample.ts";
import { Original } from "./sorting.ts";
import { stateOf } from "./state.ts";

const TIMEOUT_MS = 600_000;
const SAMPLE = 60;
const SAMPLE_MS = 3_600_000;

const isMissing = Bun.which("z3") === null;

needsNamespaces.test.skipIf(isMissing)(
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

long("each of many rulesets meets 400 packets").test.skipIf(isMissing)(
  "a mistake that lets a packet of any kind leave in the kernel is refuted by the proof",
  async () => {
    const right = stateOf("connected", POLICIES.connected);
    const original = new Original(right);
    const mistakes = shuffled(
      mutantsOf(right).filter(({ kind }) => OF_RULESET.some((each) => each === kind)),
      Number(process.env.PORTCULLIS_PROOF_SEED ?? 1),
      ({ kind, of }) => `${kind} ${of}`,
    ).slice(0, Number(process.env.PORTCULLIS_PROOF_SAMPLE ?? SAMPLE));
    const [leaking, missed] = [[] as string[], [] as string[]];
    await Laboratory.open(right, async (laboratory) => {
      for (const mistake of mistakes) {
        const [leak] = (await laboratory.leaksOf(mistake)) ?? [];
        if (leak === undefined) continue;
        const { sort } = await original.sort(mistake);
        const line = `${sort}: ${mistake.kind}: ${mistake.of}: ${leak}`;
        console.log(line);
        leaking.push(line);
        if (sort !== "refuted") missed.push(line);
      }
    });
    console.log(`${mistakes.length} mistakes, ${leaking.length} of them leak, ${missed.length} not refuted`);
    expect(missed).toEqual([]);
    expect(leaking.length).toBeGreaterThan(0);
  },
  SAMPLE_MS,
);
