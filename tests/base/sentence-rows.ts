import { ALERTS } from "../../src/base/alert-rows.ts";
import { FINDINGS } from "../../src/checks/finding-rows.ts";
import { CHECKS } from "../../src/checks/rows.ts";

type Sentences = { text: string } | { texts: Readonly<Record<string, string>> };
type Finding = { text: string; advice?: string };

/** The sentences of all alerts in English, by the keys of the catalogues: the code, with `what` after a dot. */
export const ALERT_TEXTS: Readonly<Record<string, string>> = Object.fromEntries(
  Object.entries<Sentences>(ALERTS).flatMap(([code, row]) =>
    "text" in row
      ? [[code, row.text]]
      : Object.entries(row.texts).map(([what, text]) => [`${code}.${what}`, text]),
  ),
);

/** The sentences of all findings in English: the code, and with `.advice` what to do. */
export const FINDING_TEXTS: Readonly<Record<string, string>> = Object.fromEntries(
  Object.entries<Finding>(FINDINGS).flatMap(([code, { text, advice }]) => [
    [code, text],
    ...(advice === undefined ? [] : [[`${code}.advice`, advice]]),
  ]),
);

/** The titles of checks in English. Those of tunnels have their names. */
export const CHECK_TITLES: Readonly<Record<string, string>> = Object.fromEntries(
  Object.entries(CHECKS).flatMap(([name, { title }]) =>
    name === "tunnel" ? [] : [[`check_${name}`, title]],
  ),
);
