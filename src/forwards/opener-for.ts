import type { Server } from "../servers/schema.ts";
import { type Opener, PortRefusal, type ProviderOpener } from "./opener.ts";
import { refused } from "./refusals.ts";

export type Openers = Readonly<Record<ProviderOpener, Opener>>;

/** A company with servers. */
export interface Company {
  label: string;
  /** How it opens ports; null if it opens none. */
  ports: ProviderOpener | null;
}

/**
 * The way in which a port is opened at a server. `company` is the one whose server it is, if that is known. Others may
 * open ports, so NAT-PMP is tried.
 */
export function openerFor(
  fixed: number | null,
  { name }: Pick<Server, "name">,
  company: Company | null,
  openers: Openers,
): Opener {
  if (fixed !== null) return fixedPort;
  if (company === null) return openers["nat-pmp"];
  if (company.ports !== null) return openers[company.ports];
  throw new PortRefusal(
    "unsupported",
    refused("company_without_ports", { company: company.label, server: name }),
  );
}

/** A port that a person has set on the provider's site, so nothing is asked. */
export const fixedPort: Opener = {
  kind: "fixed",
  contact: () => null,
  open: async (_, { protocol, external }) => {
    if (external === null) throw new PortRefusal("unsupported", refused("number_missing"));
    return {
      ...{ protocol, external, inside: external, address: null },
      renewAfterMs: Number.POSITIVE_INFINITY,
      expiresAfterMs: Number.POSITIVE_INFINITY,
    };
  },
  renew: async (_, port) => port,
  close: async () => {},
};
