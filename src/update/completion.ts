import type { Host } from "../system/host.ts";
import { setupCommand } from "../system/layout.ts";
import { isSetupDue } from "../system/setup.ts";
import type { Archive } from "./archive.ts";

/** The command that completes an interrupted upgrade. */
export interface Completion {
  /** The command to type. */
  next: string;
  /** Whether dpkg stopped halfway, so that even the same version must be installed again. */
  isBroken: boolean;
}

/** The steps that complete an interrupted upgrade to `version`, which is installed; null if none are known. */
export async function completionOf(
  host: Pick<Host, "run" | "read">,
  kind: Archive["kind"],
  version: string,
): Promise<Completion | null> {
  const said = (...argv: string[]) =>
    host.run(argv).then(
      (text) => text.trim(),
      () => "",
    );
  if (kind === "package") {
    // What is wanted, and what is (dpkg-query(1)): `ii`, or such as `iHR` if a power cut came while it was unpacked.
    // biome-ignore lint/suspicious/noTemplateCurlyInString: dpkg-query fills it in.
    const status = await said("dpkg-query", "--show", "--showformat=${db:Status-Abbrev}", "portcullis");
    if (!/^(.i.*)?$/.test(status))
      return { next: "sudo dpkg --configure -a, and then the same command again", isBroken: true };
  }
  const pid = await said("systemctl", "show", "--property=MainPID", "--value", "portcullis.service");
  // The kernel marks the file of a running program that has been replaced (proc(5)).
  const isReplaced =
    /^[1-9]/.test(pid) && (await said("readlink", `/proc/${pid}/exe`)).endsWith(" (deleted)");
  if (!isReplaced && !(await isSetupDue(host, version))) return null;
  return { next: setupCommand(), isBroken: false };
}
