import { type Static, Type } from "typebox";

const Interface = Type.String({ pattern: "^[A-Za-z0-9_.-]{1,15}$", description: "a network interface's name" });

/** What the operator decides; see `main.ts` for the flag and the environment variable of each. */
export const Settings = Type.Object(
  {
    port: Type.Integer({ minimum: 1, maximum: 65535 }),
    /** Address to listen on; `::` is every address, IPv4 and IPv6. */
    host: Type.String({ minLength: 1 }),
    stateDir: Type.String({ pattern: "^/" }),
    /** Base name of the tunnel's interfaces; a digit follows it, so 13 leaves room below the kernel's 15. */
    interface: Type.String({ pattern: "^[A-Za-z0-9_.-]{1,13}$" }),
    /** LAN interfaces; empty means those with private addresses. */
    lan: Type.Array(Interface),
    /** Interface towards the internet; null means the default route's. */
    uplink: Type.Union([Interface, Type.Null()]),
    /** Network namespace to serve instead of the machine's own. */
    netns: Type.Union([Type.String({ pattern: "^[A-Za-z0-9_.-]{1,64}$" }), Type.Null()]),
    /** File with the managed provider's servers. */
    managedList: Type.Union([Type.String({ pattern: "^/" }), Type.Null()]),
    /** File that holds the private key the managed provider knows. */
    managedKeyFile: Type.Union([Type.String({ pattern: "^/" }), Type.Null()]),
    /** Tunnel addresses that the managed provider assigned, comma-separated CIDRs. */
    managedAddress: Type.String(),
    /** Resolvers of the managed provider, comma-separated. */
    managedDns: Type.String(),
    logLevel: Type.Union([
      Type.Literal("debug"),
      Type.Literal("info"),
      Type.Literal("warn"),
      Type.Literal("error"),
    ]),
  },
  { additionalProperties: false },
);
export type Settings = Static<typeof Settings>;
