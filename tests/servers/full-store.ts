import { Catalogue } from "../../src/servers/catalogue.ts";
import { ManagedList } from "../../src/servers/managed.ts";
import { MAX_STORED_BYTES, sizeOfAll } from "../../src/servers/room.ts";
import { Store } from "../../src/store/store.ts";
import { generateKeyPair } from "../../src/wireguard/key.ts";

/** A program of its own, because other tests share their process's memory. */
export const FULL_STORE = import.meta.path;

const [directory = "", mode] = process.argv.slice(2);
const NOW = 0;
/** Until the allocator has returned what is free. */
const SETTLES_MS = 1_000;

const open = () => new Catalogue(Store.open(directory, NOW), new ManagedList({ missing: "there is none" }));
const resident = async () => {
  Bun.gc(true);
  await Bun.sleep(SETTLES_MS);
  Bun.gc(true);
  return process.memoryUsage().rss;
};

const [own, peer] = [generateKeyPair(), generateKeyPair()];

function add(catalogue: Catalogue, number: number): void {
  const prefixes = Array.from({ length: 500 }, (_, at) => `10.${number % 200}.${at % 256}.${at >> 8}/32`);
  catalogue.addCustom({
    name: `server-${number}`,
    endpoint: "192.0.2.1:51820",
    public_key: peer.publicKey,
    private_key: own.privateKey,
    address: "10.64.0.2/32",
    allowed_ips: prefixes.join(),
  });
}

function fill(catalogue: Catalogue): void {
  for (let number = 0; ; number += 1) {
    try {
      add(catalogue, number);
    } catch {
      return;
    }
  }
}

/** Fills a state directory with servers that have the longest lists of allowed IPs, and prints what they take. */
async function report(): Promise<void> {
  const empty = new Catalogue(
    Store.open(`${directory}/empty`, NOW),
    new ManagedList({ missing: "there is none" }),
  );
  add(empty, 0);
  const before = await resident();
  const catalogue = open();
  if (mode === "fill") fill(catalogue);
  const taken = (await resident()) - before;
  const servers = catalogue.servers("custom");
  console.log(
    JSON.stringify({ taken, servers: servers.length, full: sizeOfAll(servers) / MAX_STORED_BYTES }),
  );
}

if (import.meta.main) await report();
