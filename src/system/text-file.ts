import { readFileSync, renameSync, rmSync, writeFileSync } from "node:fs";

/** A text in a file that only root can read. It outlives the process, but no power cut: nothing waits for the disk. */
export class TextFile {
  constructor(private readonly path: string) {}

  /** Null if there is none. */
  read(): string | null {
    try {
      return readFileSync(this.path, "utf8");
    } catch {
      return null;
    }
  }

  /** If it fails, the text is as before. */
  write(text: string): void {
    const fresh = `${this.path}.new`;
    try {
      writeFileSync(fresh, text, { mode: 0o600 });
      renameSync(fresh, this.path);
    } catch (error) {
      // Half a file would keep a full disk full.
      rmSync(fresh, { force: true });
      throw error;
    }
  }
}
