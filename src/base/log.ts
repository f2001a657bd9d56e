import type { Settings } from "./settings.ts";

type Level = Settings["logLevel"];
const ORDER: readonly Level[] = ["debug", "info", "warn", "error"];

/** Longer lines are cut: journald splits one of 48 KiB (journald.conf(5), LineMax), and the rest would look like another. */
const MAX_CHARACTERS = 8_000;

/**
 * A text on one line, made safe because parts of it come from others: what ends a line, moves a cursor or reverses a
 * direction is escaped.
 */
export function lineOf(text: string, most = MAX_CHARACTERS): string {
  const cut = text.length > most ? `${text.slice(0, most - 1)}…` : text;
  return cut.toWellFormed().replace(/[\p{Cc}\p{Bidi_Control}\u2028\u2029]/gu, escaped);
}

function escaped(character: string): string {
  return character === "\n" ? "\\n" : `\\u${character.charCodeAt(0).toString(16).padStart(4, "0")}`;
}

/** Writes lines for the journal. A message must not contain key material. */
export class Log {
  constructor(private readonly least: Level) {}

  debug(message: string): void {
    this.write("debug", message);
  }

  info(message: string): void {
    this.write("info", message);
  }

  warn(message: string): void {
    this.write("warn", message);
  }

  error(message: string): void {
    this.write("error", message);
  }

  private write(level: Level, message: string): void {
    if (ORDER.indexOf(level) >= ORDER.indexOf(this.least))
      process.stderr.write(`${level}: ${lineOf(message)}\n`);
  }
}
