import { Type } from "typebox";
import { checkerOf } from "../base/checker.ts";
import { type Keys, keysOf } from "./keys.ts";
import { PLAIN } from "./plain.ts";
import { DISGUISED_PORTS } from "./ports.ts";
import type { Transport } from "./transport.ts";

/** What it has no options for; a relay without it has no such field, or null. */
const features = checkerOf(Type.Object({ lwo: Type.Object({}) }));

/** Mullvad's lightweight WireGuard obfuscation: the header is hidden. A server understands it wherever it answers. */
export const LWO = {
  protocol: "udp",
  offered: {
    by: "list",
    own: { schema: Type.Boolean(), read: (value) => (value === true ? true : null) },
    ofMullvad: (relay) => (features.Check(relay.features) ? true : null),
  },
  places: (server, known) => PLAIN.places(server, known).slice(0, DISGUISED_PORTS),
  addedBytes: () => 0,
  relay: {
    settings: keysOf,
    carriage: {
      kind: "datagrams",
      async disguise({ serverKey, ownKey }) {
        const { Lwo } = await import("./disguises/lwo.ts");
        return new Lwo(Uint8Array.fromBase64(serverKey), Uint8Array.fromBase64(ownKey));
      },
    },
    words: { name: "lwo", seen: "with a hidden header (`lwo`)", by: "by LWO" },
  },
  words: {
    title: "WireGuard with an obfuscated header",
    option: "with a hidden header (lwo)",
    asked: "`lwo` hides WireGuard's header, for networks that recognise it",
  },
} as const satisfies Transport<true, Keys>;
