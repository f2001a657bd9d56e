import { setupCommand } from "../system/layout.ts";
import { refusal } from "./errors.ts";
import { refused } from "./refusals.ts";

export interface Ways {
  /** The port at which HTTPS listens; null if it is off, and `down` while it should listen and does not. */
  https: () => number | "down" | null;
}

/** What such a request is answered: the way to HTTPS, or what turns that on. */
export function httpsOnly(request: Request, { https }: Ways): Response {
  const port = https();
  const at = typeof port === "number" ? originOf(request, port) : (port ?? "off");
  return refusal(403, refused("https_only", { https: at, command: COMMANDS[at] ?? "" }), {
    Connection: "close",
  });
}

/** HTTPS under the name that the client has used, which has been checked to be an address or a name of the gateway. */
export function originOf(request: Request, port: number): string {
  const name = (request.headers.get("host") ?? "").replace(/:[0-9]+$/, "");
  return new URL(`https://${name}:${port}`).origin;
}

/** What to type where HTTPS is no answer. */
const COMMANDS: Readonly<Record<string, string>> = {
  off: setupCommand("--https on"),
  down: "sudo portcullis check",
};
