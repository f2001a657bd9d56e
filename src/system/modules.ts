import { codeOf, messageOf } from "../base/errors.ts";
import { refused } from "./refusals.ts";

/** How errors end if the kernel needs a module that it does not have or cannot load, or if WireGuard's program is missing too. */
const LACKS =
  /(No such file or directory|(Operation|Protocol) not supported|Unknown device type\.|is it installed\?)$/;

/**
 * The same error, with the likely cause if it is one of those. The service cannot find out for certain: it does not see
 * the folder of the modules (systemd.exec(5), ProtectKernelModules).
 */
export function explained(error: unknown): unknown {
  const message = messageOf(error);
  if (!LACKS.test(message)) return error;
  return refused("kernel_module_missing", { reason: message }, { code: codeOf(error), cause: error });
}
