import type { Settings } from "./settings.ts";

type Level = Settings["logLevel"];
const ORDER: readonly Level[] = ["debug", "info", "warn", "error"];

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
    if (ORDER.indexOf(level) >= ORDER.indexOf(this.least)) process.stderr.write(`${level}: ${message}\n`);
  }
}
