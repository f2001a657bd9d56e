import { type Address, addressFrom } from "../base/address.ts";
import type { Host } from "../system/host.ts";

/** The kernel's lists of sockets, and the state of one that receives: unconnected over UDP, or listening over TCP. */
const FILES = [
  ["/proc/net/udp", "07"],
  ["/proc/net/udp6", "07"],
  ["/proc/net/tcp", "0A"],
  ["/proc/net/tcp6", "0A"],
] as const;
const PORT = ":0035";
/** Some thousands of sockets; those of a resolver are among the first, because it starts with the machine. */
const MAX_BYTES = 2 ** 20;

/** Whether another program of this machine answers DNS at one of these addresses, such as Pi-hole. */
export async function hasOtherResolver(
  host: Pick<Host, "read">,
  addresses: readonly Address[],
): Promise<boolean> {
  const found = await Promise.all(
    FILES.map(async ([path, state]) => listeningIn((await host.read(path, MAX_BYTES)) ?? "", state)),
  );
  return found.flat().some((address) => /^(0\.0\.0\.0|::)$/.test(address) || addresses.includes(address));
}

/** The addresses at which something listens on port 53. */
function listeningIn(text: string, state: string): Address[] {
  return text.split("\n").flatMap((line) => {
    if (!line.includes(PORT)) return [];
    const [, local = "", , own] = line.trim().split(/\s+/);
    if (own !== state || !local.endsWith(PORT)) return [];
    return addressIn(local.slice(0, -PORT.length));
  });
}

/** Words of 32 bits in the byte order of ARM and x86. */
function addressIn(hex: string): Address[] {
  const bytes = Buffer.from(hex, "hex");
  return bytes.length === 4 || bytes.length === 16 ? [addressFrom(bytes.swap32())] : [];
}
