import { type Address, bytesOf, contains, familyOf, type Prefix, parseAddress } from "../base/address.ts";
import { nameBytes, TYPE } from "../base/dns-message.ts";
import { HOME_ZONE, isInHomeZone } from "../base/home-zone.ts";
import { type OwnRecord, ownAnswer, RCODE, SHORTEST_TTL_SECONDS } from "./answer.ts";
import { HomeNames, type NamedDevice } from "./home-names.ts";
import { noSuchName, nothingOfThisType } from "./negative.ts";
import type { Question } from "./question.ts";

/** Reading the devices takes files, so that many questions share one look. */
const LOOK_EVERY_MS = 2_000;

interface Deps {
  clock: { monotonic(): number };
  devices: () => Promise<readonly NamedDevice[]>;
  /** The gateway's addresses on its LANs. */
  own: () => readonly Address[];
  /** The networks of the home. */
  home: () => readonly Prefix[];
}

/** Answers for the names of the home's devices and for its addresses. No other resolver is ever asked for these. */
export class HomeZone {
  private names: HomeNames | null = null;
  private lookedAt = Number.NEGATIVE_INFINITY;
  private looking: Promise<HomeNames> | null = null;

  constructor(private readonly deps: Deps) {}

  /** Null if the question is for another resolver. So is a name without a dot, unless a device has it. */
  answer(question: Question): Promise<Uint8Array | null> | null {
    const { name } = question;
    if (isInHomeZone(name)) return this.forward(question, name.slice(0, -HOME_ZONE.length - 1));
    if (!name.includes(".")) return this.forward(question, name, true);
    const address = name.endsWith(".arpa") ? reversedIn(name) : null;
    if (address === null || !this.deps.home().some((prefix) => contains(prefix, address))) return null;
    return this.reverse(question, address);
  }

  private async forward(question: Question, label: string, isBare = false): Promise<Uint8Array | null> {
    const addresses = label === "" && !isBare ? [] : (await this.current()).addressesOf(label);
    if (addresses === null) return isBare ? null : noSuchName(question);
    const records = addresses
      .filter((address) => question.type === (familyOf(address) === 4 ? TYPE.a : TYPE.aaaa))
      .map(
        (address): OwnRecord => ({ type: question.type, ttl: SHORTEST_TTL_SECONDS, data: bytesOf(address) }),
      );
    return records.length === 0 ? nothingOfThisType(question) : ownAnswer(question, RCODE.ok, records);
  }

  private async reverse(question: Question, address: Address): Promise<Uint8Array> {
    const label = (await this.current()).labelAt(address);
    if (label === null) return noSuchName(question);
    if (question.type !== TYPE.ptr) return nothingOfThisType(question);
    const data = Uint8Array.from(nameBytes(`${label}.${HOME_ZONE}`));
    return ownAnswer(question, RCODE.ok, [{ type: TYPE.ptr, ttl: SHORTEST_TTL_SECONDS, data }]);
  }

  private current(): Promise<HomeNames> {
    const now = this.deps.clock.monotonic();
    if (this.looking !== null && now - this.lookedAt < LOOK_EVERY_MS) return this.looking;
    this.lookedAt = now;
    this.looking = this.look();
    return this.looking;
  }

  /** If the devices cannot be read, those known before count. */
  private async look(): Promise<HomeNames> {
    const devices = await this.deps.devices().catch(() => null);
    if (devices !== null || this.names === null)
      this.names = new HomeNames(devices ?? [], this.deps.own(), this.names ?? undefined);
    return this.names;
  }
}

/** The zones of reverse names, and how many labels an address has there (RFC 1035, section 3.5; RFC 3596, section 2.5). */
const ZONES = [
  { zone: ".in-addr.arpa", labels: 4 },
  { zone: ".ip6.arpa", labels: 32 },
] as const;

/** The address that a reverse name in lower case stands for, or that it is below; null if it is none of a whole address. */
function reversedIn(name: string): Address | null {
  for (const { zone, labels } of ZONES) {
    if (!name.endsWith(zone)) continue;
    const parts = name.slice(0, -zone.length).split(".").slice(-labels).reverse();
    if (parts.length < labels) return null;
    return parseAddress(labels === 4 ? parts.join(".") : groupsOf(parts));
  }
  return null;
}

function groupsOf(nibbles: readonly string[]): string {
  if (nibbles.some((nibble) => !/^[0-9a-f]$/.test(nibble))) return "";
  return (nibbles.join("").match(/.{4}/g) ?? []).join(":");
}
