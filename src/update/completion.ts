import type { Host } from "../system/host.ts";
import { setupCommand } from "../system/layout.ts";
import type { Archive } from "./archive.ts";

/** The command that completes an interrupted upgrade to the installed version; null if nothing is known to be left. */
export async function completionOf(host: Pick<Host, "run">, kind: Archive["kind"]): Promise<string | null> {
  const said = (...argv: string[]) =>
    host.run(argv).then(
      (text) => text.trim(),
      () => "",
    );
  if (kind === "package") {
    // Such as `ii` (dpkg-query(1)): what is wanted, and what is.
    const status = await said("dpkg-query", "--show", `--showformat=$` + "{db:Status-Abbrev}", "portcullis");
    if (!/^(.i.*)?$/.test(status)) return "sudo dpkg --configure -a";
  }
  const pid = await said("systemctl", "show", "--property=MainPID", "--value", "portcullis.service");
  // The kernel marks the file of a running program that has been replaced (proc(5)).
  const isReplaced =
    /^[1-9]/.test(pid) && (await said("readlink", `/proc/${pid}/exe`)).endsWith(" (deleted)");
  return isReplaced ? setupCommand() : null;
}
