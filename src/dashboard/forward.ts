import type { Forward } from "../forwards/schema.ts";
import { tunnelTitle } from "../shared/words.ts";

/** By what the internet reaches a forwarded port, or why it does not. */
export function reachOf({ state, external, address, tunnel, asked_by, error }: Forward): string {
  const by = asked_by === "device" ? ", which the device has asked for" : "";
  const server = address === null ? "" : ` of ${address}`;
  return state === "open"
    ? `reached from the internet at port ${external}${server} of the ${tunnelTitle(tunnel ?? "")}${by}`
    : `forwarded, but not open${error === null ? " yet" : `: ${error}`}`;
}
