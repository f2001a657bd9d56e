import { GatewayError } from "../errors.ts";

/** For commands that read or write the gateway's state; only root can read what they write. */
export function asRoot(command: string): void {
  process.umask(0o077);
  if (process.getuid?.() !== 0)
    throw new GatewayError("unable", `needs root; type: sudo portcullis ${command}`);
}
