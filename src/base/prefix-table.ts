import {
  type Address,
  addressOf,
  familyOf,
  lengthOf,
  networkOf,
  numberOf,
  type Prefix,
  prefixOf,
} from "./address.ts";

/** The prefix that was found, and what it has. */
export interface Found<Value> {
  prefix: Prefix;
  value: Value;
}

/**
 * Finds the longest prefix that contains an address, by one look-up for each length that there is. The prefixes have no
 * host bits.
 */
export class PrefixTable<Value> {
  private readonly found = new Map<string, Found<Value>>();
  /** Of each family, the longest first. */
  private readonly lengths: Readonly<Record<4 | 6, readonly number[]>>;

  constructor(values: ReadonlyMap<Prefix, Value>) {
    for (const [prefix, value] of values)
      this.found.set(keyOf(addressOf(prefix), lengthOf(prefix)), { prefix, value });
    const lengthsIn = (family: 4 | 6) => {
      const lengths = [...values.keys()].filter((prefix) => familyOf(prefix) === family).map(lengthOf);
      return [...new Set(lengths)].sort((a, b) => b - a);
    };
    this.lengths = { 4: lengthsIn(4), 6: lengthsIn(6) };
  }

  find(address: Address): Found<Value> | null {
    return this.within(address, this.lengths[familyOf(address)]);
  }

  /** The longest prefix that contains all of another one; it may be that one. */
  covering(prefix: Prefix): Found<Value> | null {
    const lengths = this.lengths[familyOf(prefix)].filter((length) => length <= lengthOf(prefix));
    return this.within(addressOf(prefix), lengths);
  }

  /** Among prefixes of these lengths. */
  private within(address: Address, lengths: readonly number[]): Found<Value> | null {
    for (const length of lengths) {
      const found = this.found.get(keyOf(address, length));
      if (found !== undefined) return found;
    }
    return null;
  }
}

/** The network of this length that the address is in. IPv4 is not parsed as `networkOf` does, which takes much longer. */
function keyOf(address: Address, length: number): string {
  if (familyOf(address) === 6) return networkOf(prefixOf(address), length);
  return `${Math.floor(numberOf(address) / 2 ** (32 - length))}/${length}`;
}
