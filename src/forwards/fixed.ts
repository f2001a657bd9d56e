import { type Opener, PortRefusal } from "./opener.ts";

/** A port that a person has set on the provider's site, so nothing is asked. */
export const fixedPort: Opener = {
  kind: "fixed",
  contact: () => null,
  open: async (_, { protocol, external }) => {
    if (external === null) throw new PortRefusal("unsupported", "a number is required: --external");
    return {
      ...{ protocol, external, inside: external, address: null },
      renewAfterMs: Number.POSITIVE_INFINITY,
      expiresAfterMs: Number.POSITIVE_INFINITY,
    };
  },
  renew: async (_, port) => port,
  close: async () => {},
};
