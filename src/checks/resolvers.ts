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
  if (first === undefined) return warning("dns_missing", {});
  const resolver = first.address;
  if (isGood(first)) return ok("dns", { resolver });
  const said = { resolver, answer: answerOf(first) };
  const good = asked.find(isGood);
  if (good === undefined) return fault(first.isOutside ? "dns_outside" : "dns_silent", said);
  const found = { ...said, other: good.address };
  return hasOwnResolver ? warning("dns_replaced", found) : fault("dns_stuck", found);
}

function isGood({ rcode }: AskedResolver): boolean {
  return rcode === RCODE.ok || rcode === RCODE.noName;
}

function answerOf({ rcode }: AskedResolver): string {
  return rcode === null ? "none" : (CODES[rcode] ?? `RCODE ${rcode}`);
}
