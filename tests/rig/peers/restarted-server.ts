import { existsSync } from "node:fs";
import { vpnTunnel } from "../../../src/sandbox/addresses.ts";
import type { VPN } from "../../../src/sandbox/topology.ts";
import type { Lab } from "../tools/lab.ts";
import { until } from "../tools/until.ts";

/**
 * Starts a VPN server's WireGuard again, which then knows no customer's address. The `wireguard-go` of December 2023, as
 * in Debian 13, cannot send to an IPv6 address once it has sent to an IPv4 one: it keeps the first four bytes.
 */
export async function restartServer(lab: Lab, role: keyof typeof VPN): Promise<void> {
  const namespace = lab.namespaces[role];
  const link = lab.sandbox.serverInterfaces[role];
  const done = async (argv: readonly string[], stdin?: string) => {
    const { code, stdout, stderr } = await lab.exec(namespace, argv, stdin);
    if (code !== 0) throw new Error(stderr);
    return stdout;
  };
  const config = await done(["wg", "showconf", link]);
  await done(["ip", "link", "del", link]);
  await until(() => !existsSync(`/run/wireguard/${link}.sock`));
  await done(["ip", "link", "add", link, "type", "wireguard"]).catch(() => done(["wireguard-go", link]));
  await done(["wg", "setconf", link, "/dev/stdin"], config.replace(/^Endpoint.*\n/gm, ""));
  await done(["ip", "-batch", "-"], vpnTunnel(link));
}
