/**
 * What a line of a list says of a name. The later ones come before the earlier ones; of `block` and `spare`, the longer
 * name holds.
 */
export const VERDICTS = ["block", "spare", "open", "block always", "open always"] as const;
export type Verdict = (typeof VERDICTS)[number];

export interface Entry {
  verdict: Verdict;
  /** It includes all names below it; with `|` before it, only the name itself. */
  name: string;
  /** It takes the same entry out of the list, wherever that is. */
  isVoid?: true;
}

/** Null for a line without meaning, such as a comment; empty for one that is not understood. */
export type Meaning = readonly Entry[] | null;

export const NOT_UNDERSTOOD: Meaning = [];
