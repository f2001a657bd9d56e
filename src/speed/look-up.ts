import { type Address, parseAddress } from "../base/address.ts";
import { TYPE } from "../base/dns-message.ts";
import { questionAbout } from "../dns/question.ts";
import type { ExitResolvers, Upstream } from "../dns/upstream.ts";
import { refused } from "./refusals.ts";

/** The addresses of a name, as the resolvers of a tunnel know them, which are asked inside it. */
export async function lookUpInside(
  name: string,
  exit: ExitResolvers | null,
  upstream: Pick<Upstream, "ask">,
): Promise<Address[]> {
  const address = parseAddress(name);
  if (address !== null) return [address];
  if (exit === null) throw refused("resolver_missing");
  const found: Address[] = [];
  // IPv4 first: every tunnel carries it.
  for (const type of [TYPE.a, TYPE.aaaa])
    found.push(...((await upstream.ask(questionAbout(name, type), exit))?.addresses ?? []));
  if (found.length === 0) throw refused("name_unresolved", { field: "url", name });
  return found;
}
