import type { Request } from "./world.ts";

/** The text for none, so that it differs from what a request leaves as it is. */
export const NONE = "none";

/** The values that may hold now, of which a request gives one, or undefined if it leaves that as it is. */
export type Possible = (
  given: (request: Request, held: string) => string | undefined,
  first: string,
) => ReadonlySet<string>;
