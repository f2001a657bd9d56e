/** What can stand in one place of a command line. */
export type Candidates = readonly string[] | "servers" | "files" | "anything";

/** A command as a shell has to know it. */
export interface Node {
  /** The words that lead to it; empty for the program itself. */
  path: string;
  help: string;
  commands: { name: string; help: string }[];
  options: { names: string[]; help: string; value: Candidates | null }[];
  operand: Candidates;
}
