import { closeSync, openSync, readFileSync, readSync } from "node:fs";
import { StringDecoder } from "node:string_decoder";
import { ReadStream } from "node:tty";
import { CommandError, messageOf } from "../base/errors.ts";
import { STANDARD_INPUT } from "./defaults.ts";

/** The first line of a file or the next line of standard input; at a terminal, an answer that is not echoed. */
export async function readSecret(source: string, name: string, mayBeEmpty = false): Promise<string> {
  const line =
    source !== STANDARD_INPUT
      ? firstLineOf(source, name)
      : process.stdin.isTTY
        ? askSecret(name)
        : await nextLine();
  if (line === "" && !mayBeEmpty) throw new CommandError("bad_request", `${name}: is empty`);
  return line;
}

/** Asks at the terminal even if standard input is a file, and does not echo the answer. */
export function askSecret(name: string): string {
  const fd = openTerminal(name);
  const terminal = new ReadStream(fd);
  terminal.setRawMode(true);
  process.stderr.write(`${name}: `);
  try {
    return lineTyped(fd);
  } finally {
    terminal.setRawMode(false);
    closeSync(fd);
    process.stderr.write("\n");
  }
}

function openTerminal(name: string): number {
  try {
    return openSync("/dev/tty", "r+");
  } catch (cause) {
    throw new CommandError("bad_request", `${name}: there is no terminal to ask at; pass it in a file`, {
      cause,
    });
  }
}

/** The characters that Enter, Ctrl-D, Ctrl-C and Backspace send. */
const KEYS = { end: "\r\n\x04", interrupt: "\x03", backspace: "\x7f\b" };

/** Blocks in read(2), because a stream on a terminal keeps the program from ending even after it is destroyed. */
function lineTyped(fd: number): string {
  const decoder = new StringDecoder("utf8");
  const bytes = Buffer.alloc(1_024);
  const line: string[] = [];
  for (;;) {
    const count = readSync(fd, bytes);
    for (const key of decoder.write(bytes.subarray(0, count))) {
      if (key === KEYS.interrupt) throw new CommandError("unable", "interrupted");
      if (KEYS.end.includes(key)) return line.join("");
      if (KEYS.backspace.includes(key)) line.pop();
      else line.push(key);
    }
    if (count === 0) return line.join("");
  }
}

function firstLineOf(path: string, name: string): string {
  try {
    return readFileSync(path, "utf8").split(/\r?\n/, 1)[0] ?? "";
  } catch (cause) {
    throw new CommandError("bad_request", `${name}: ${messageOf(cause)}`, { cause });
  }
}

/** The lines of standard input, read once for all secrets that come from it. */
let piped: Promise<string[]> | null = null;

async function nextLine(): Promise<string> {
  piped ??= Bun.stdin.text().then((text) => text.split(/\r?\n/));
  return (await piped).shift() ?? "";
}
