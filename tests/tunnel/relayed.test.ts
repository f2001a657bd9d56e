import { expect, spyOn, test } from "bun:test";
import { MAIN_SLOT, slotOf } from "../../src/network/slot.ts";
import { addedBytes } from "../../src/tunnel/mtu.ts";
import { Relayed } from "../../src/tunnel/relayed.ts";
import { sessionFor } from "../../src/tunnel/session.ts";
import { generateKeyPair, publicKeyOf } from "../../src/wireguard/key.ts";
import { ip } from "../fake/address.ts";
import { FakeRelays } from "../fake/relays.ts";
import { ONE } from "./gateway.ts";

const SESSION = sessionFor(
  slotOf(MAIN_SLOT, "wg"),
  ONE,
  { address: ip("192.0.2.1"), port: 443, transport: "lwo" },
  null,
);

test("a header is hidden by the keys in use: after others were agreed on, a relay with those takes the place", async () => {
  const relays = new FakeRelays();
  const relayed = new Relayed({ openRelay: async (place) => relays.open(place) });
  const ownKeys = () => [...relays.opened.values()].map(({ way }) => way.by === "lwo" && way.ownKey);
  // It runs beside the event loop, which the other implementation holds up.
  const imports = spyOn(crypto.subtle, "importKey");
  const first = await relayed.for(SESSION);
  expect(imports).toHaveBeenCalledTimes(1);
  imports.mockRestore();
  expect(ownKeys()).toEqual([publicKeyOf(ONE.config.interface.privateKey)]);
  expect(await relayed.for({ ...SESSION })).toEqual(first);
  const { privateKey, publicKey } = generateKeyPair();
  const second = await relayed.for({ ...SESSION, keys: { privateKey, presharedKey: "" } });
  expect(second).not.toEqual(first);
  expect(ownKeys()).toEqual([publicKey]);
  relayed.close(SESSION.link);
  expect(ownKeys()).toEqual([]);
});

test("AmneziaWG's settings go with the relay", async () => {
  const relays = new FakeRelays();
  const relayed = new Relayed({ openRelay: async (place) => relays.open(place) });
  const { config } = ONE;
  const server = {
    ...ONE,
    config: { ...config, interface: { ...config.interface, amnezia: { s4: 7, h1: "5" } } },
  };
  const session = { ...SESSION, server, transport: "amnezia" as const };
  await relayed.for(session);
  const [place] = relays.opened.values();
  expect(place?.way).toMatchObject({
    ...{ by: "amnezia", serverKey: config.peer.publicKey, ownKey: publicKeyOf(config.interface.privateKey) },
    form: {
      padding: [0, 0, 0, 7],
      headers: [
        [5, 5],
        [2, 2],
        [3, 3],
        [4, 4],
      ],
    },
  });
  expect(addedBytes(session)).toBe(7);
});
