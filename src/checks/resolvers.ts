import type { Address } from "../base/address.ts";
import { TYPE } from "../base/dns-message.ts";
import { RCODE } from "../dns/answer.ts";
import { questionAbout } from "../dns/question.ts";
import type { Upstream } from "../dns/upstream.ts";
import type { HostNetwork } from "../network/host-network.ts";
import { exitMarkOf } from "../network/slot.ts";
import { resolversInside } from "../tunnel/mtu.ts";
import type { Session } from "../tunnel/session.ts";
import { resolversOutside } from "../wireguard/led.ts";
import { type Finding, fault, ok, warning } from "./finding.ts";

/** Exists everywhere and reveals nothing about the client (RFC 7050, 2). */
const QUESTION = questionAbout("ipv4only.arpa", TYPE.a);
const CODES: Readonly<Record<number, string>> = { 1: "FORMERR", 2: "SERVFAIL", 4: "NOTIMP", 5: "REFUSED" };

/** A resolver of the tunnel, and the code of its answer; null for none. */
export interface AskedResolver {
  address: Address;
  rcode: number | null;
  /** Whether the configuration's AllowedIPs leave it out. It is led into the tunnel all the same. */
  isOutside: boolean;
}

/** Asks each resolver of a live tunnel alone, as the gateway's own resolver asks it. */
export function askResolvers(
  session: Session,
  network: HostNetwork,
  upstream: Pick<Upstream, "ask">,
): Promise<AskedResolver[]> {
  const outside = resolversOutside(session.server.config);
  const way = { link: session.link, mark: exitMarkOf(session.mark) };
  return Promise.all(
    resolversInside(session, network).map(async (address) => {
      const answer = await upstream.ask(QUESTION, { ...way, resolvers: [address] });
      return { address, rcode: answer?.rcode ?? null, isOutside: outside.includes(address) };
    }),
  );
}

/** Without the gateway's own resolver, the firewall leads all queries to the first one. */
export function dnsFinding(asked: readonly AskedResolver[], hasOwnResolver: boolean): Finding {
  const [first] = asked;
  if (first === undefined)
    return warning(
      "the tunnel has no resolver, so queries that are sent to the gateway are not answered",
      "Give the server one: the DNS line of its file, or --dns of portcullis add.",
    );
  if (isGood(first)) return ok(`the tunnel's resolver ${first.address} answers`);
  const said = `the tunnel's resolver ${first.address} ${faultOf(first)}`;
  const good = asked.find(isGood);
  if (good === undefined && first.isOutside)
    return fault(
      `${said}, and the AllowedIPs of its configuration leave it out`,
      "The server may well work: give its configuration a resolver that is in its AllowedIPs, and import it again.",
    );
  if (good === undefined)
    return fault(said, "Check the DNS address in the server's configuration, or try another server.");
  const advice = `Name ${good.address} first in the DNS line of the server's file.`;
  return hasOwnResolver
    ? warning(`${said}; ${good.address} is asked in its place`, advice)
    : fault(`${said}, and devices are led to it alone; ${good.address} answers`, advice);
}

function isGood({ rcode }: AskedResolver): boolean {
  return rcode === RCODE.ok || rcode === RCODE.noName;
}

function faultOf({ rcode }: AskedResolver): string {
  return rcode === null ? "does not answer" : `refuses queries (${CODES[rcode] ?? `code ${rcode}`})`;
}
