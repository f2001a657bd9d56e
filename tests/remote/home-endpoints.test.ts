import { expect, test } from "bun:test";
import { HomeEndpoints } from "../../src/remote/home-endpoints.ts";
import type { LinkedHome } from "../../src/remote/home-record.ts";
import { generateKeyPair } from "../../src/wireguard/key.ts";

const SILENT_MS = 1_000_000;

test("no address is kept for a name that no link has any more", async () => {
  const host = { now: () => SILENT_MS, monotonic: () => SILENT_MS };
  const endpoints = new HomeEndpoints({
    ...{ host, killSwitch: {}, savedState: {}, log: { warn: () => {} } },
    tunnels: { main: { controller: { carriesData: true } } },
  } as never);
  Object.assign(endpoints, { resolver: { resolve: async () => ["192.0.2.7"] } });
  const home = {
    public_key: generateKeyPair().publicKey,
    ...{ endpoint: { host: "cabin.example.org", port: 51_820 }, prefixes: [] },
  } as unknown as LinkedHome;
  const peers = [{ publicKey: home.public_key, heardAt: null }] as never;
  expect(await endpoints.look([home], peers)).toHaveLength(1);
  expect(String(endpoints.addressOf(home))).toBe("192.0.2.7");
  await endpoints.look([], peers);
  expect(endpoints.addressOf(home)).toBeNull();
});
