import { LinuxHost } from "../../src/system/linux.ts";
import { NamespaceHost } from "../namespace-host.ts";

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
