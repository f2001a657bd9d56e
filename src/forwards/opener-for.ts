import type { Server } from "../servers/schema.ts";
import { fixedPort } from "./fixed.ts";
import { type Opener, type OpenerKind, PortRefusal } from "./opener.ts";

export type Openers = Readonly<Record<Exclude<OpenerKind, "fixed">, Opener>>;

/** Providers with accounts that open no ports. */
const CLOSED: Readonly<Record<string, string>> = { mullvad: "Mullvad", ivpn: "IVPN", nordvpn: "NordVPN" };

/**
 * The way in which a port is opened at a server. `provider` is the name of the company whose server it is, if that is
 * known. Others may open ports, so NAT-PMP is tried.
 */
export function openerFor(
  fixed: number | null,
  { name }: Pick<Server, "name">,
  provider: string | null,
  openers: Openers,
): Opener {
  if (fixed !== null) return fixedPort;
  const company = CLOSED[provider ?? ""];
  if (company !== undefined)
    throw new PortRefusal(
      "unsupported",
      `${company}, whose server ${name} is, does not open ports; connect to a server of a provider that does, such as Proton VPN, Private Internet Access or AirVPN`,
    );
  return openers[provider === "pia" ? "pia" : "nat-pmp"];
}
