import { addressOf } from "../base/address.ts";
import { FLAGS } from "../base/flags.ts";
import type { OwnUla } from "../network/ula.ts";

/** One change to the machine; applying it twice has the same effect as once. */
export type Step =
  | { do: "copy"; from: string; path: string; mode: number }
  | { do: "write"; path: string; mode: number; text: string }
  | { do: "remove"; path: string }
  | { do: "remove empty"; path: string }
  | { do: "sysctl"; path: string; value: string }
  | { do: "farewell"; addresses: readonly OwnUla[] }
  | { do: "run"; argv: readonly string[]; stdin?: string; mayFail?: true };

/** The steps in order; a value, so that it can be shown and compared before anything is done. */
export type Plan = readonly Step[];

export function removeStep(path: string): Step {
  return { do: "remove", path };
}

/** The plan for people, with the whole text of each file. */
export function textOf(plan: Plan): string {
  return plan.map((step) => `${headOf(step)}\n${bodyOf(step)}`).join("");
}

/** Addresses for notifications contain tokens, and people share what a dry run prints. */
function withoutSecrets(text: string): string {
  return text.replace(new RegExp(`^([ \\t]*${FLAGS.notify.variable}[ \\t]*=).+$`, "gm"), "$1(not shown)");
}

/** The step in one line. */
export function headOf(step: Step): string {
  switch (step.do) {
    case "copy":
      return `copy ${step.from} to ${step.path} (mode ${step.mode.toString(8)})`;
    case "write":
      return `write ${step.path} (mode ${step.mode.toString(8)})`;
    case "remove":
      return `remove ${step.path}`;
    case "remove empty":
      return `remove ${step.path} if it is empty`;
    case "sysctl":
      return `set ${step.path} to ${step.value}`;
    case "farewell":
      return `tell devices that ${step.addresses.map(textOfUla).join(" and ")} is no longer their IPv6 router and resolver`;
    case "run":
      return `run ${step.argv.join(" ")}`;
  }
}

function textOfUla({ interface: link, prefix }: OwnUla): string {
  return `${addressOf(prefix)} on ${link}`;
}

function bodyOf(step: Step): string {
  const text = step.do === "write" ? withoutSecrets(step.text) : step.do === "run" ? (step.stdin ?? "") : "";
  return text === "" ? "" : `${text.trimEnd().replace(/^(?=.)/gm, "    ")}\n\n`;
}
