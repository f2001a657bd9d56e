import { openSync, readFileSync } from "node:fs";
import { ReadStream } from "node:tty";
import { GatewayError, messageOf } from "../errors.ts";

/** Where a secret comes from that is not asked for: standard input, a line for each. */
export const STANDARD_INPUT = "-";

/** The first line of a file or the next one of standard input; a person at a terminal is asked, unseen. */
export async function readSecret(source: string, name: string): Promise<string> {
  const line =
    source !== STANDARD_INPUT
      ? firstLineOf(source, name)
      : process.stdin.isTTY
        ? await askSecret(name)
        : await nextLine();
  if (line === "") throw new GatewayError("bad_request", `${name}: is empty`);
  return line;
}

/** Asks at the terminal even where standard input is a file, and shows nothing of the answer. */
export async function askSecret(name: string): Promise<string> {
  const terminal = openTerminal(name);
  process.stderr.write(`${name}: `);
  try {
    return await typed(terminal);
  } finally {
    terminal.setRawMode(false);
    terminal.destroy();
    process.stderr.write("\n");
  }
}

function openTerminal(name: string): ReadStream {
  try {
    const terminal = new ReadStream(openSync("/dev/tty", "r+"));
    terminal.setRawMode(true);
    return terminal.setEncoding("utf8");
  } catch (cause) {
    throw new GatewayError("bad_request", `${name}: there is no terminal to ask at; give it in a file`, {
      cause,
    });
  }
}

const KEYS = { enter: /[\r\n]/, interrupt: "\x03", end: "\x04", backspace: /[\x7f\b]/ };

async function typed(terminal: ReadStream): Promise<string> {
  const line: string[] = [];
  for await (const text of terminal) {
    for (const key of text as string) {
      if (key === KEYS.interrupt) throw new GatewayError("unable", "interrupted");
      if (key === KEYS.end || KEYS.enter.test(key)) return line.join("");
      if (KEYS.backspace.test(key)) line.pop();
      else line.push(key);
    }
  }
  return line.join("");
}

function firstLineOf(path: string, name: string): string {
  try {
    return readFileSync(path, "utf8").split(/\r?\n/, 1)[0] ?? "";
  } catch (cause) {
    throw new GatewayError("bad_request", `${name}: ${messageOf(cause)}`, { cause });
  }
}

/** What standard input holds; read once, for all that come from it. */
let piped: Promise<string[]> | null = null;

async function nextLine(): Promise<string> {
  piped ??= Bun.stdin.text().then((text) => text.split(/\r?\n/));
  return (await piped).shift() ?? "";
}
