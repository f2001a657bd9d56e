import type { ShownToken } from "../access/schema.ts";
import type { Settings } from "../base/settings.ts";
import { setupCommand } from "../system/layout.ts";
import { type Finding, fault, ok, warning } from "./finding.ts";

/** Whether anyone can use the interface; null if it asks for no token. */
export function accessFinding(auth: Settings["auth"], tokens: readonly ShownToken[]): Finding | null {
  const count = { tokens: tokens.length, readers: tokens.filter(({ read_only }) => read_only).length };
  // In a message, `<name>` would be a tag.
  const commands = { add: "sudo portcullis token add <name>", command: setupCommand("--auth off") };
  switch (auth) {
    case "off":
      return null;
    case "write":
      return tokens.length === 0 ? warning("access_read_only", commands) : ok("access_write", count);
    case "on":
      return tokens.length === 0 ? fault("access_closed", commands) : ok("access_all", count);
  }
}
