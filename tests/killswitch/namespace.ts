import { LinuxHost } from "../../src/system/linux.ts";
import { NamespaceHost } from "../namespace-host.ts";

/** The interfaces of the connected policy and their IPv4 addresses, for `ip`; each interface is one end of a cable. */
export const CONNECTED = [
  ...["lan0", "up0", "wg0"].flatMap((name, at) => [
    `link add ${name} type veth peer name peer${at}`,
    `link set ${name} up`,
    `link set peer${at} up`,
  ]),
  ...["192.168.7.1/24 dev lan0", "192.168.8.2/24 dev up0", "10.64.0.2/32 dev wg0"].map(
    (address) => `address add ${address}`,
  ),
];

/** A network namespace of its own for the work; gone afterwards. */
export async function inNamespace<T>(work: (host: LinuxHost) => Promise<T>): Promise<T> {
  const machine = new LinuxHost();
  const name = `pcfw${process.pid}-${Math.floor(Math.random() * 1e9).toString(36)}`;
  await machine.run(["ip", "netns", "add", name]);
  try {
    return await work(new NamespaceHost(name));
  } finally {
    await machine.run(["ip", "netns", "del", name]);
  }
}
