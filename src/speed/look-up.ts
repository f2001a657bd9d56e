import { type Address, parseAddress } from "../base/address.ts";
import { GatewayError } from "../base/errors.ts";
import { FLAG, type Question } from "../dns/question.ts";
import { type ExitResolvers, Upstream } from "../dns/upstream.ts";
import { nameBytes, TYPE } from "../dns/wire.ts";

/** The class of the internet, of a question. */
const IN = [0, 1];

/** The addresses of a name, as the resolvers of a tunnel know them, which are asked inside it. */
export async function lookUpInside(name: string, exit: ExitResolvers | null): Promise<Address[]> {
  const address = parseAddress(name);
  if (address !== null) return [address];
  if (exit === null)
    throw new GatewayError("unable", "url: the tunnel has no resolver, so it has to have an IP address");
  const upstream = new Upstream();
  try {
    const found: Address[] = [];
    // IPv4 first: every tunnel carries it.
    for (const type of [TYPE.a, TYPE.aaaa])
      found.push(...((await upstream.ask(questionFor(name, type), exit))?.addresses ?? []));
    if (found.length === 0) throw new GatewayError("unable", `url: the name ${name} does not resolve`);
    return found;
  } finally {
    upstream.close();
  }
}

function questionFor(name: string, type: number): Question {
  const bytes = Uint8Array.from([...nameBytes(name), 0, type, ...IN]);
  const wants = { flags: FLAG.recursion, hasEdns: true, wantsDnssec: false, udpBytes: 0 };
  return { id: 0, name, type, bytes, ...wants };
}
