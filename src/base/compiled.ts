/** Whether this is the executable of `scripts/build`, whose files are inside it, and not Bun with the sources. */
export const COMPILED = Bun.main.startsWith("/$bunfs/");
