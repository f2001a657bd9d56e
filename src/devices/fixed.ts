import {
  type Address,
  addressOf,
  contains,
  familyOf,
  lengthOf,
  networkOf,
  type Prefix,
  parseAddress,
} from "../base/address.ts";
import { messageOf } from "../base/errors.ts";
import type { Log } from "../base/log.ts";
import { type Mac, parseMac } from "../base/mac.ts";
import { SavedList } from "../base/saved.ts";
import { placeText } from "../system/files.ts";
import type { Host } from "../system/host.ts";
import { setupCommand } from "../system/layout.ts";
import { type Field, storedColumn } from "./field.ts";
import type { LimitId } from "./id.ts";
import { refused } from "./refusals.ts";

/** The destination of the addresses. */
export interface DhcpHosts {
  /** The file that the DHCP server reads. */
  file: string;
  /** The server's unit, which is told of changes; null if systemd does not run it. */
  unit: string | null;
}

interface Deps {
  host: Pick<Host, "run">;
  /** Null if the gateway does not serve DHCP. */
  dhcp: DhcpHosts | null;
  log: Pick<Log, "warn">;
}

/** Addresses on the network that no device may have. */
interface Taken {
  own: readonly Address[];
  routers: readonly Address[];
}

/** MAC and IPv4 address of each. */
export const FIXED_ADDRESSES = new SavedList<[Mac, Address]>({
  key: "fixed_addresses",
  what: "fixed address",
  /** Anyone on the LAN may give them. */
  max: 1_000,
  maxCharacters: 40,
  entriesIn: (text) =>
    (text ?? "").split(",").flatMap((pair) => {
      const [id = "", address = ""] = pair.split(" ");
      const [mac, parsed] = [parseMac(id), parseAddress(address)];
      return mac === null || parsed === null || familyOf(parsed) === 6 ? [] : [[mac, parsed]];
    }),
  countIn: (text) => (text === "" ? 0 : text.split(",").length),
  format: (all) =>
    all
      .map((pair) => pair.join(" "))
      .sort()
      .join(","),
  nameOf: ([mac]) => mac,
  claimOf: ([, address]) => address,
  wordsOf: ([, address]) => address,
});

/** The address that a person has chosen for a device, and the gateway's DHCP server gives to it. */
export const ADDRESS: Field<Address> = {
  parse: (given: string | null, { address }) => (given === null ? null : address(given)),
  stored: storedColumn<Address, [Mac, Address]>({
    list: FIXED_ADDRESSES,
    entryOf: (id, address) => [id as Mac, address],
    pairOf: ([mac, address]) => [mac, address],
  }),
};

/** What the DHCP server has of those addresses. */
export class FixedAddresses {
  private all: ReadonlyMap<LimitId, Address> = new Map();
  /** Null before the machine's network is known. Until then the DHCP server keeps its present file. */
  private taken: Taken | null = null;
  private readonly reported = new Set<string>();

  constructor(private readonly deps: Deps) {}

  /**
   * To be called when the machine's network is first known, and when it changes. A home router whose cable is
   * disconnected for a while keeps its addresses.
   */
  async takenAre({ own, routers }: Taken): Promise<void> {
    const taken = { own, routers: routers.length > 0 ? routers : (this.taken?.routers ?? []) };
    if (Bun.deepEquals(taken, this.taken)) return;
    this.taken = taken;
    await this.tell();
  }

  /** A server that cannot be told gets them later. */
  async apply(all: ReadonlyMap<LimitId, Address>): Promise<void> {
    this.all = all;
    await this.tell();
  }

  /** The address that was typed; throws `GatewayError` if the DHCP server could not give it to a device. */
  parse(text: string, prefixes: readonly Prefix[]): Address {
    if (this.deps.dhcp === null) throw refused("dhcp_off", { command: setupCommand("--dhcp") });
    const address = parseAddress(text);
    const networks = prefixes.filter((prefix) => familyOf(prefix) === 4 && !prefix.startsWith("169.254."));
    if (address === null || familyOf(address) === 6) throw refused("address_not_ipv4");
    const network = networks.find((prefix) => contains(prefix, address));
    if (network === undefined)
      throw refused("address_outside_lan", { address, networks: networks.join(" or ") });
    if (isEdge(address, network)) throw refused("address_at_edge", { address, network });
    const taker = this.takerOf(address);
    if (taker !== null) throw refused("address_taken", { address, taker });
    return address;
  }

  /** The owner of an address that is not a device; null if there is none. */
  private takerOf(address: Address): "own" | "router" | null {
    const { own = [], routers = [] } = this.taken ?? {};
    if (own.includes(address)) return "own";
    return routers.includes(address) ? "router" : null;
  }

  /** The addresses that no machine of the network needs itself. A backup may contain others, from another LAN. */
  private usable(): Map<LimitId, Address> {
    const usable = [...this.all].filter(([id, address]) => {
      const taker = this.takerOf(address);
      const message = `${id} does not get its fixed address ${address}: it is ${taker === "own" ? "the gateway's own" : "the home router's"}; choose another one`;
      if (taker !== null && !this.reported.has(message)) this.deps.log.warn(message);
      if (taker !== null) this.reported.add(message);
      return taker === null;
    });
    return new Map(usable);
  }

  private async tell(): Promise<void> {
    const { dhcp, host, log } = this.deps;
    if (dhcp === null || this.taken === null) return;
    try {
      if (placeText(dhcp.file, hostsText(this.usable()), 0o644) === "unchanged" || dhcp.unit === null) return;
      await host.run(["systemctl", "--no-block", "try-reload-or-restart", dhcp.unit]);
    } catch (error) {
      log.warn(`the DHCP server does not have the devices' addresses yet: ${messageOf(error)}`);
    }
  }
}

function hostsText(all: ReadonlyMap<LimitId, Address>): string {
  const lines = [...all].map(([id, address]) => `${id},${address}\n`).sort();
  return `# Generated by Portcullis: the addresses that people have chosen for devices.\n${lines.join("")}`;
}

function isEdge(address: Address, network: Prefix): boolean {
  return address === addressOf(networkOf(network)) || address === lastOf(networkOf(network));
}

function lastOf(network: Prefix): string {
  const length = lengthOf(network);
  const bytes = addressOf(network).split(".").map(Number);
  return bytes.map((byte, index) => byte | (0xff >> Math.min(8, Math.max(0, length - 8 * index)))).join(".");
}
