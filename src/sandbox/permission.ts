import { messageOf } from "../base/errors.ts";
import type { Host } from "../system/host.ts";
import { commandIn } from "./namespace.ts";
import { claimId, remove } from "./sweep.ts";

/** The operations of a sandbox in its namespaces. */
const NEEDED = [
  ["sysctl", "-qw", "net.ipv4.ip_forward=1"],
  ["nft", "add", "table", "inet", "probe"],
  ["ip", "link", "add", "type", "veth"],
  ["ip", "tuntap", "add", "probe", "mode", "tun"],
];

/**
 * Why this machine permits no sandbox, or null if it does. This is found out by an attempt, because a container may
 * lack capabilities, a writable /proc/sys or /dev/net/tun, and AppArmor may refuse mounts.
 */
export async function sandboxRefusal(host: Host): Promise<string | null> {
  const id = claimId();
  const namespace = `${id}-probe`;
  try {
    await host.run(["ip", "netns", "add", namespace]);
    for (const argv of NEEDED) await host.run(commandIn(namespace, argv));
    return null;
  } catch (error) {
    return messageOf(error);
  } finally {
    await remove(host, id);
  }
}
