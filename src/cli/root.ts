import { CommandError } from "../base/errors.ts";

/** For commands that read or write the gateway's state. Only root can read the files that they write. */
export function asRoot(command: string): void {
  assertOnGateway();
  process.umask(0o077);
  if (process.getuid?.() !== 0)
    throw new CommandError("unable", `needs root; type: sudo portcullis ${command}`);
}

/**
 * For commands about the gateway that they run on, because an answer about another machine must not be taken for it.
 */
export function assertOnGateway(): void {
  const url = process.env.PORTCULLIS_URL ?? "";
  if (url === "" || isLoopback(url)) return;
  throw new CommandError(
    "unable",
    `this command is for the gateway that it runs on, but PORTCULLIS_URL names ${url}; run it on that gateway, or here without PORTCULLIS_URL`,
  );
}

function isLoopback(url: string): boolean {
  const host = URL.parse(url)?.hostname ?? "";
  return /^(localhost|127(\.\d+){3}|\[::1\])$/.test(host);
}
