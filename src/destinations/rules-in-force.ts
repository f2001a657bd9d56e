import { Decision, without } from "../base/decision.ts";
import type { Texts } from "../base/saved.ts";
import { DIRECT } from "../devices/record.ts";
import type { Named } from "../killswitch/destination-part.ts";
import type { Destination, PolicyPart } from "../killswitch/policy.ts";
import { effectOf } from "./closing.ts";
import { closed, isDirect } from "./direct.ts";
import { inOrder, Matcher, type Rule } from "./rules.ts";
import { DESTINATIONS } from "./saved.ts";

interface Deps {
  store: Texts & { atomically(work: () => void): void };
  killSwitch: { update(owner: string, part: PolicyPart | null): Promise<void> };
  directAllowed: () => boolean;
  /** What a rule leads to its exit by names. */
  ledBy: (rule: Rule) => readonly Named[];
  /** What is refused besides. */
  refused: () => readonly Destination[];
  /** Called when others have taken the place of these. */
  onChange: (before: readonly Rule[]) => void;
}

/** The owner of the rules in the kill switch; never a tunnel's name. */
const OWNER = "DESTINATIONS";

/** The rules as the kernel and the database have them. */
export class RulesInForce {
  readonly decision: Decision<readonly Rule[]>;
  /** For looking them up. What it has found is no part of the decision. */
  private latest: Matcher | null = null;

  constructor(private readonly deps: Deps) {
    this.decision = new Decision<readonly Rule[]>({
      store: deps.store,
      read: () => this.saved(),
      // What the database permits is not lost if the kernel refuses the permission.
      isStored: (rules) =>
        DIRECT.read(deps.store) === "on" ||
        rules.some(isDirect) ||
        !DESTINATIONS.read(deps.store).some(isDirect),
      write: (_, rules) => DESTINATIONS.write(deps.store, rules),
      parts: [{ of: (rules) => rules, apply: (rules) => this.apply(rules), effect: effectOf }],
      changed: deps.onChange,
    });
  }

  get matcher(): Matcher {
    if (this.latest?.rules !== this.all) this.latest = new Matcher(this.all);
    return this.latest;
  }

  get all(): readonly Rule[] {
    return this.decision.value;
  }

  change(edit: (rules: readonly Rule[]) => readonly Rule[]): Promise<void> {
    return this.decision.change((rules) => {
      const edited = edit(rules);
      return edited === rules ? rules : inOrder(edited);
    });
  }

  remove(id: string, missing: Error): Promise<void> {
    return this.decision.remove((rules) => without(rules, (rule) => rule.id === id), missing);
  }

  /** Hands them to the kernel with the addresses that they have when it calls `begin`. */
  loadAddresses(begin?: () => void): Promise<void> {
    return this.decision.between(() => {
      begin?.();
      return this.apply(this.all);
    });
  }

  private apply(rules: readonly Rule[]): Promise<void> {
    const led = rules.map((rule) => {
      const { names, prefixes, devices, exit } = rule;
      return { prefixes, devices, exit, ...(names.length > 0 && { named: this.deps.ledBy(rule) }) };
    });
    const destinations = [...led, ...this.deps.refused()];
    return this.deps.killSwitch.update(OWNER, destinations.length === 0 ? null : { destinations });
  }

  /** What root has not allowed blocks. */
  private saved(): Rule[] {
    const rules = inOrder(DESTINATIONS.read(this.deps.store));
    return this.deps.directAllowed() ? rules : rules.map(closed);
  }
}
