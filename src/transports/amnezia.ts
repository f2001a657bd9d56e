import { type AmneziaForm, formOf } from "../wireguard/amnezia.ts";
import { type Keys, keysOf } from "./keys.ts";
import type { Transport } from "./transport.ts";

/** AmneziaWG: other types of messages, and bytes that mean nothing, in a form that both ends have agreed on. */
export const AMNEZIA = {
  protocol: "udp",
  offered: { by: "configuration", isDemanded: (config) => config.interface.amnezia !== undefined },
  places: ({ config }) => [{ port: config.peer.endpoint.port }],
  addedBytes: (config) => config.interface.amnezia?.s4 ?? 0,
  relay: {
    settings: async (config, privateKey) => ({
      ...(await keysOf(config, privateKey)),
      form: formOf(config.interface.amnezia ?? {}),
    }),
    carriage: {
      kind: "datagrams",
      async disguise({ form, serverKey, ownKey }) {
        const { Amnezia } = await import("./disguises/amnezia.ts");
        return new Amnezia(form, Uint8Array.fromBase64(serverKey), Uint8Array.fromBase64(ownKey));
      },
    },
    words: { name: "AmneziaWG", seen: "by AmneziaWG (`amnezia`)", by: "by AmneziaWG" },
  },
  words: {
    title: "By AmneziaWG",
    option: "by AmneziaWG (amnezia)",
    asked: "`amnezia` is the only way to a server whose configuration has AmneziaWG's settings",
  },
} as const satisfies Transport<undefined, Keys & { form: AmneziaForm }>;
