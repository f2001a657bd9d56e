import { writeFileSync } from "node:fs";
import { join } from "node:path";
import { CommandError, messageOf } from "../base/errors.ts";
import type { Host } from "../system/host.ts";

/** The name of the signers in the list of keys. */
export const SIGNER = "portcullis";
/** A signature is for this purpose only (PROTOCOL.sshsig of OpenSSH). */
export const NAMESPACE = "portcullis-release";

/** Throws unless there is a key to verify with; `signers` is a text in the format of ssh-keygen(1), ALLOWED SIGNERS. */
export function assertKey(signers: string): void {
  if (/^[^#\s]/m.test(signers)) return;
  throw new CommandError(
    "unable",
    "this build has no key to verify releases with, so it refuses all of them; use an official build, or install by hand",
  );
}

/** Throws unless the text is signed by one of the signers; `folder` is a private one, with the signature in a file. */
export async function verifySignature(
  host: Pick<Host, "run">,
  { text, signature, signers }: { text: string; signature: string; signers: string },
  folder: string,
): Promise<void> {
  assertKey(signers);
  if (Bun.which("ssh-keygen") === null)
    throw new CommandError("unable", "ssh-keygen not found; install: apt-get install openssh-client");
  const keys = join(folder, "signers");
  writeFileSync(keys, signers, { mode: 0o600 });
  const who = ["-f", keys, "-I", SIGNER, "-n", NAMESPACE];
  await host
    .run(["ssh-keygen", "-Y", "verify", ...who, "-s", signature], { stdin: text })
    .catch((cause: unknown) => {
      throw new CommandError(
        "unable",
        `SHA256SUMS is not signed by Portcullis's release key (${messageOf(cause)}); do not install these files, and fetch the release from its official place`,
        { cause },
      );
    });
}
