/** A fenced block of a Markdown page. `sh` is run as it stands, `console` is for another machine. */
export interface Block {
  language: "sh" | "console" | "ts" | "json" | "";
  text: string;
}

export function blocksIn(page: string): Block[] {
  return [...page.matchAll(/^```([a-z]*)\n(.*?)^```$/gms)].map(([, language = "", text = ""]) => ({
    language: language as Block["language"],
    text,
  }));
}

/** The commands of a block, continued lines joined, comments left out. */
export function commandsIn(block: string): string[] {
  return block
    .replaceAll("\\\n", " ")
    .split("\n")
    .map((line) => line.replace(/ +# .*$/, "").trim())
    .filter((line) => line !== "" && !line.startsWith("#"));
}

/** The rows of a table of `curl` commands: what to type, and what comes. */
export function rowsIn(page: string): { command: string; answer: string }[] {
  return [...page.matchAll(/^\| `(curl [^|]*)` \| `([^`]*)`.*\|$/gm)].map(
    ([, command = "", answer = ""]) => ({ command, answer }),
  );
}

/** An answer on a page may leave things out with … */
export function patternOf(answer: string): RegExp {
  return new RegExp(`^${answer.split("…").map(RegExp.escape).join("[^]*")}$`);
}
