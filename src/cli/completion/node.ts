/** What may be typed at one place of a command line. */
export type Candidates = readonly string[] | "servers" | "tunnels" | "files" | "anything";

/** What a completion script knows of a command. */
export interface Node {
  /** The command's words; empty for the program itself. */
  path: string;
  help: string;
  commands: { name: string; help: string }[];
  options: { names: string[]; help: string; value: Candidates | null }[];
  /** By position; the last one holds for all that follow. */
  operands: readonly [Candidates, ...Candidates[]];
}
