import { GatewayError } from "../errors.ts";

/** For a command that reads or writes the gateway's state; what it writes is root's alone. */
export function asRoot(command: string): void {
  process.umask(0o077);
  if (process.getuid?.() !== 0)
    throw new GatewayError("unable", `needs root; type: sudo portcullis ${command}`);
}
