/**
 * A fenced block of a Markdown page. `sh` is run as it is, `shell-session` has answers too, `bash` is run in namespaces
 * of its own, `console` is for another machine.
 */
export interface Block {
  language: "sh" | "bash" | "shell-session" | "console" | "ts" | "json" | "";
  text: string;
}

export function blocksIn(page: string): Block[] {
  return [...page.matchAll(/^```([a-z-]*)\n(.*?)^```$/gms)].map(([, language = "", text = ""]) => ({
    language: language as Block["language"],
    text,
  }));
}

/** The commands of a block, with continued lines joined and without comments. */
export function commandsIn(block: string): string[] {
  return block
    .replaceAll("\\\n", " ")
    .split("\n")
    .map((line) => line.replace(/ +# .*$/, "").trim())
    .filter((line) => line !== "" && !line.startsWith("#"));
}

/** The commands of a session, each with what it prints. */
export function sessionIn(block: string): { command: string; answer: string }[] {
  return block
    .split(/^\$ /m)
    .slice(1)
    .map((text) => ({
      command: text.slice(0, text.indexOf("\n")),
      answer: text.slice(text.indexOf("\n") + 1),
    }));
}

/** The rows of a table of `curl` commands: the command and its answer. */
export function rowsIn(page: string): { command: string; answer: string }[] {
  return [...page.matchAll(/^\| `(curl [^|]*)` \| `([^`]*)`.*\|$/gm)].map(
    ([, command = "", answer = ""]) => ({ command, answer }),
  );
}

/** An answer on a page may be abbreviated with … */
export function patternOf(answer: string): RegExp {
  return new RegExp(`^${answer.split("…").map(RegExp.escape).join("[^]*")}$`);
}
