import { join } from "node:path";
import { commandIn } from "../src/sandbox/namespace.ts";
import { CLIENT_ENVIRONMENT, UNPACKED } from "./client-programs.ts";

const PROGRAM = join(UNPACKED, "usr/bin/ss-server");

/** Starts Debian's ss-server (shadowsocks-libev) as at Mullvad's servers, which sends on to the WireGuard there. */
export async function startShadowsocks(namespace: string, port: number): Promise<Bun.Subprocess> {
  const words = ["-U", "-s", "0.0.0.0", "-p", `${port}`, "-k", "mullvad", "-m", "aes-256-gcm"];
  const child = Bun.spawn(commandIn(namespace, [PROGRAM, ...words]), {
    ...{ stdin: "ignore", stdout: "pipe", stderr: "inherit" },
    env: CLIENT_ENVIRONMENT,
  });
  const output = child.stdout.getReader();
  for (let said = ""; !said.includes("udp server listening"); ) {
    const { value, done } = await output.read();
    if (done) throw new Error(`ss-server has ended: ${said}`);
    said += new TextDecoder().decode(value);
  }
  return child;
}
