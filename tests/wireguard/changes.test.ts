import { expect, test } from "bun:test";
import { prefixOf } from "../../src/base/address.ts";
import { addconfText, changesFor, isNone, uapiChanges } from "../../src/wireguard/changes.ts";
import { hexOf, type Peer } from "../../src/wireguard/interface.ts";
import { generateKeyPair } from "../../src/wireguard/key.ts";
import { ips } from "../fake/address.ts";

const [own, first, second, gone] = [0, 1, 2, 3].map(() => generateKeyPair()) as [Pair, Pair, Pair, Pair];
type Pair = ReturnType<typeof generateKeyPair>;
const PRESHARED = generateKeyPair().privateKey;
const OWN = { privateKey: own.privateKey, fwmark: 0x114d, listenPort: 51_820 };

function peer({ publicKey }: Pair, number: number, presharedKey = PRESHARED): Peer {
  const allowedIps = ips(`10.200.7.${number}`, `fd00:200::${number}`).map(prefixOf);
  return { config: { publicKey, presharedKey, allowedIps }, endpoint: null, keepalive: 0 };
}

/** As the userspace program and as `wg show IF dump` tell it. */
function told(peers: readonly Peer[]) {
  const uapi = peers.map(({ config: { publicKey, presharedKey = "", allowedIps } }) =>
    [
      `public_key=${hexOf(publicKey)}`,
      `preshared_key=${hexOf(presharedKey)}`,
      "protocol_version=1",
      "rx_bytes=7",
      ...allowedIps.toReversed().map((each) => `allowed_ip=${each}`),
    ].join("\n"),
  );
  const rows = peers.map(({ config: { publicKey, presharedKey = "", allowedIps } }) =>
    [publicKey, presharedKey, "203.0.113.101:4000", allowedIps.join(","), "0", "7", "7", "off"].join("\t"),
  );
  const key = `private_key=${hexOf(own.privateKey)}`;
  return [
    { uapi: `${[key, "listen_port=51820", "fwmark=4429", ...uapi].join("\n")}\nerrno=0\n\n` },
    { dump: `${[`${own.privateKey}\t${own.publicKey}\t51820\t0x114d`, ...rows].join("\n")}\n` },
  ];
}

test("an interface that is as it should be is told nothing", () => {
  const peers = [peer(first, 2), peer(second, 3)];
  for (const each of told(peers)) expect(isNone(changesFor(each, OWN, peers))).toBe(true);
});

test("only what differs is told: neither the port nor the peers that stay", () => {
  for (const each of told([peer(first, 2), peer(gone, 4)])) {
    const changes = changesFor(each, OWN, [peer(first, 2), peer(second, 3)]);
    expect(uapiChanges(changes)).toBe(
      `set=1\npublic_key=${hexOf(gone.publicKey)}\nremove=true\npublic_key=${hexOf(second.publicKey)}\npreshared_key=${hexOf(PRESHARED)}\npersistent_keepalive_interval=0\nreplace_allowed_ips=true\nallowed_ip=10.200.7.3/32\nallowed_ip=fd00:200::3/128\n\n`,
    );
    expect(addconfText(changes).trim()).toBe(
      `[Peer]\nPublicKey = ${second.publicKey}\nPresharedKey = ${PRESHARED}\nAllowedIPs = 10.200.7.3/32, fd00:200::3/128\nPersistentKeepalive = 0`,
    );
  }
});

test("another port, another address and another preshared key are told", () => {
  for (const each of told([peer(first, 2), peer(second, 3)])) {
    expect(changesFor(each, { ...OWN, listenPort: 1_194 }, [peer(first, 2), peer(second, 3)])).toEqual({
      ...{ listenPort: 1_194, fwmark: null, removed: [], peers: [] },
    });
    const other = [peer(first, 5), peer(second, 3, own.privateKey)];
    expect(changesFor(each, OWN, other).peers).toEqual(other);
  }
});

test("what only removes leaves nothing to add", () => {
  for (const each of told([peer(gone, 4)])) expect(addconfText(changesFor(each, OWN, []))).toBe("");
});
