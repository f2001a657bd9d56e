import { join } from "node:path";
import { CLIENT_ENVIRONMENT, UNPACKED } from "../tools/client-programs.ts";
import { startServer } from "../tools/server-program.ts";

export const SHADOWSOCKS_PORT = 51_924;

const PROGRAM = join(UNPACKED, "usr/bin/ss-server");

/** Starts Debian's ss-server (shadowsocks-libev) as at Mullvad's servers, which sends on to the WireGuard there. */
export function startShadowsocks(namespace: string, port: number): Promise<Bun.Subprocess> {
  const words = ["-U", "-s", "0.0.0.0", "-p", `${port}`, "-k", "mullvad", "-m", "aes-256-gcm"];
  return startServer(namespace, [PROGRAM, ...words], CLIENT_ENVIRONMENT);
}
