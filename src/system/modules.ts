import { codeOf, GatewayError, messageOf } from "../base/errors.ts";

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
  const likely =
    "the kernel lacks a module for this or cannot load it; if the kernel was upgraded, restart the machine";
  return new GatewayError(codeOf(error), `${message} (${likely})`, { cause: error });
}
