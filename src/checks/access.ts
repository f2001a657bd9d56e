import type { ShownToken } from "../access/schema.ts";
import type { Settings } from "../base/settings.ts";
import { setupCommand } from "../system/layout.ts";
import { type Finding, fault, ok, warning } from "./finding.ts";

const MAKE_ONE = `Make one for each client: sudo portcullis token add <name>. If no token should be needed: ${setupCommand("--auth off")}`;

/** Whether anyone can use the interface; null if it asks for no token. */
export function accessFinding(auth: Settings["auth"], tokens: readonly ShownToken[]): Finding | null {
  switch (auth) {
    case "off":
      return null;
    case "write":
      if (tokens.length === 0)
        return warning("changes need a token, and there is none: the page can only be read", MAKE_ONE);
      return ok(`changes need a token; ${countOf(tokens)}`);
    case "on":
      if (tokens.length === 0)
        return fault("everything needs a token, and there is none: nobody can use the page", MAKE_ONE);
      return ok(`everything needs a token; ${countOf(tokens)}`);
  }
}

function countOf(tokens: readonly ShownToken[]): string {
  const writing = tokens.filter(({ read_only }) => !read_only).length;
  return `there ${tokens.length === 1 ? "is 1" : `are ${tokens.length}`}, ${writing === tokens.length ? "none" : tokens.length - writing} read-only`;
}
