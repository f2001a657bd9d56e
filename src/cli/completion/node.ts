/** What may be typed at one place of a command line. */
export type Candidates = readonly string[] | keyof typeof LISTS | "files" | "anything";

/** What a completion script knows of a command. */
export interface Node {
  /** The command's words; empty for the program itself. */
  path: string;
  help: string;
  commands: { name: string; help: string }[];
  options: { names: string[]; help: string; value: Candidates | null }[];
  /** By position. A single one is offered again and again. */
  operands: Candidates[];
}

/** The commands that print what a name can be, one a line. */
export const LISTS = {
  servers: "portcullis servers --places --names",
  tunnels: "portcullis tunnels --names",
  devices: "portcullis devices --names",
  exits: "portcullis devices --exits",
  schedules: "portcullis schedules --names",
} as const;
