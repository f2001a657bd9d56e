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
import { GatewayError, messageOf } from "../base/errors.ts";
import type { Log } from "../base/log.ts";
import { type Mac, parseMac } from "../base/mac.ts";
import { SavedList, type Texts } from "../base/saved.ts";
import { placeText } from "../system/files.ts";
import type { Host } from "../system/host.ts";
import { setupCommand } from "../system/layout.ts";

/** The destination of the addresses. */
export interface DhcpHosts {
  /** The file that the DHCP server reads. */
  file: string;
  /** The server's unit, which is told of changes; null if systemd does not run it. */
  unit: string | null;
}

interface Deps {
  host: Pick<Host, "run">;
  store: Texts;
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

/** The addresses that people have chosen for devices. The gateway's DHCP server gives them to the devices. */
export class FixedAddresses {
  private all: ReadonlyMap<Mac, Address>;
  /** Null before the machine's network is known. Until then the DHCP server keeps its present file. */
  private taken: Taken | null = null;
  private readonly reported = new Set<string>();

  constructor(private readonly deps: Deps) {
    this.all = new Map(FIXED_ADDRESSES.read(deps.store));
  }

  get ids(): Mac[] {
    return [...this.all.keys()];
  }

  of(id: string): Address | null {
    return this.all.get(id as Mac) ?? null;
  }

  holderOf(address: Address): Mac | null {
    return this.ids.find((id) => this.all.get(id) === address) ?? null;
  }

  /**
   * To be called when the machine's network is first known, and when it changes. A home router whose cable is
   * disconnected for a while keeps its addresses.
   */
  async takenAre({ own, routers }: Taken): Promise<void> {
    const taken = { own, routers: routers.length > 0 ? routers : (this.taken?.routers ?? []) };
    if (Bun.deepEquals(taken, this.taken)) return;
    this.taken = taken;
    await this.apply();
  }

  /** Reads them again, and hands them to the DHCP server. */
  async load(): Promise<void> {
    this.all = new Map(FIXED_ADDRESSES.read(this.deps.store));
    await this.apply();
  }

  /** Null gives the device any address again. */
  async set(id: Mac, address: Address | null): Promise<void> {
    if (this.of(id) === address) return;
    // If two requests come at once, both may have found it free.
    if (address !== null && this.holderOf(address) !== null)
      throw refusal(`another device has ${address}; choose another one`);
    const all = new Map(this.all);
    if (address === null) all.delete(id);
    else all.set(id, address);
    if (all.size > FIXED_ADDRESSES.max)
      throw new GatewayError(
        "bad_request",
        `address: ${FIXED_ADDRESSES.max} devices have one already, the maximum; remove one first`,
      );
    FIXED_ADDRESSES.write(this.deps.store, [...all]);
    this.all = all;
    await this.apply();
  }

  /** The address that was typed; throws `GatewayError` if the DHCP server could not give it to a device. */
  parse(text: string, prefixes: readonly Prefix[]): Address {
    if (this.deps.dhcp === null)
      throw refusal(`the gateway does not serve DHCP; to turn that on: ${setupCommand("--dhcp")}`);
    const address = parseAddress(text);
    const networks = prefixes.filter((prefix) => familyOf(prefix) === 4 && !prefix.startsWith("169.254."));
    if (address === null || familyOf(address) === 6) throw refusal("must be an IPv4 address");
    const network = networks.find((prefix) => contains(prefix, address));
    if (network === undefined)
      throw refusal(`${address} is outside the LAN; choose one from ${networks.join(" or ")}`);
    if (isEdge(address, network))
      throw refusal(`${address} is the first or the last of ${network}, which no device can have`);
    const taker = this.takerOf(address);
    if (taker !== null) throw refusal(`${address} is ${taker}`);
    return address;
  }

  /** The owner of an address that is not a device; null if there is none. */
  private takerOf(address: Address): string | null {
    const { own = [], routers = [] } = this.taken ?? {};
    if (own.includes(address)) return "the gateway's own";
    return routers.includes(address) ? "the home router's" : null;
  }

  /** The addresses that no machine of the network needs itself. A backup may contain others, from another LAN. */
  private usable(): Map<Mac, Address> {
    const usable = [...this.all].filter(([id, address]) => {
      const taker = this.takerOf(address);
      const message = `${id} does not get its fixed address ${address}: it is ${taker}; choose another one`;
      if (taker !== null && !this.reported.has(message)) this.deps.log.warn(message);
      if (taker !== null) this.reported.add(message);
      return taker === null;
    });
    return new Map(usable);
  }

  private async apply(): Promise<void> {
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

function hostsText(all: ReadonlyMap<Mac, Address>): string {
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

function refusal(what: string): GatewayError {
  return new GatewayError("bad_request", `address: ${what}`);
}
