import {
  HEADER_BYTES,
  IN,
  Malformed,
  nameIn,
  plainName,
  type Record,
  recordsIn,
  TYPE,
  viewOf,
} from "../base/dns-message.ts";

/** Below the name of a DNAME, its answer has a CNAME for the name that was asked (RFC 6672). */
const OF_NAMES_ABOVE: ReadonlySet<number> = new Set([TYPE.dname, TYPE.rrsig]);
/** Each is looked up in all lists, whenever a device asks. Resolvers follow a dozen. */
const MAX_NAMES = 64;
/** What says that there is nothing, or proves it: SOA, NS, DS, RRSIG, NSEC, NSEC3. */
const OF_AUTHORITY: ReadonlySet<number> = new Set([TYPE.soa, TYPE.ns, 43, TYPE.rrsig, 47, 50]);
/** The names in the data of records that may be compressed, and the bytes before them (RFC 3597, section 4). */
const NAMES: { [type: number]: { count: number; behind: number } } = {
  ...Object.fromEntries([2, 3, 4, 5, 7, 8, 9, 12, 39].map((type) => [type, { count: 1, behind: 0 }])),
  ...{ 6: { count: 2, behind: 0 }, 14: { count: 2, behind: 0 } },
  ...{ 15: { count: 1, behind: 2 }, 33: { count: 1, behind: 6 } },
};

/** What an answer says about the name that was asked, without anything else. */
interface Reachable {
  message: Uint8Array;
  records: readonly Record[];
  /** The name that was asked, and those that its CNAME records lead to. */
  names: readonly string[];
}

/**
 * Leaves out what nothing leads to from the name that was asked: some programs take every address of an answer, whatever
 * name it belongs to. Throws `Malformed`.
 */
export function reachableIn(message: Uint8Array, questionsEnd: number): Reachable {
  const records = recordsIn(message, questionsEnd).filter(({ section }) => section !== "additional");
  const names = namesFrom(nameIn(message, HEADER_BYTES).name, message, records);
  const led = records.filter((record) => isLedTo(record, names));
  const kept =
    led.length === records.length
      ? new Uint8Array(message.subarray(0, records.at(-1)?.dataEnd ?? questionsEnd))
      : messageOf(message.subarray(0, questionsEnd), message, led);
  const view = viewOf(kept);
  for (const [index, section] of (["answer", "authority", "additional"] as const).entries())
    view.setUint16(6 + 2 * index, led.filter((record) => record.section === section).length);
  return { message: kept, records: recordsIn(kept, questionsEnd), names: [...names] };
}

/** The CNAME records may be in any order. */
function namesFrom(name: string, message: Uint8Array, records: readonly Record[]): ReadonlySet<string> {
  const aliases = records.filter(({ section, type }) => section === "answer" && type === TYPE.cname);
  const byOwner = Map.groupBy(aliases, ({ name: owner }) => owner);
  const names = new Set([name]);
  // What is added meanwhile is iterated too.
  for (const each of names)
    for (const { dataAt } of byOwner.get(each) ?? []) names.add(nameIn(message, dataAt).name);
  if (names.size > MAX_NAMES) throw new Malformed();
  return names;
}

function isLedTo({ section, name, type, class: group }: Record, names: ReadonlySet<string>): boolean {
  if (group !== IN) return false;
  if (section === "authority") return OF_AUTHORITY.has(type);
  return (
    names.has(name) || (OF_NAMES_ABOVE.has(type) && [...names].some((each) => each.endsWith(`.${name}`)))
  );
}

/** Without compression, which leads into what is left out. */
function messageOf(head: Uint8Array, message: Uint8Array, records: readonly Record[]): Uint8Array {
  const parts = records.flatMap((record) => {
    const data = dataOf(message, record);
    const fixed = new Uint8Array(message.subarray(record.ttlAt - 4, record.dataAt));
    viewOf(fixed).setUint16(fixed.length - 2, data.length);
    return [plainName(message, record.nameAt).bytes, fixed, data];
  });
  return Buffer.concat([head, ...parts]);
}

function dataOf(message: Uint8Array, { type, dataAt, dataEnd }: Record): Uint8Array {
  const { count, behind } = NAMES[type] ?? { count: 0, behind: 0 };
  const parts = [message.subarray(dataAt, dataAt + behind)];
  let at = dataAt + behind;
  for (let index = 0; index < count; index++) {
    const { bytes, end } = plainName(message, at);
    parts.push(bytes);
    at = end;
  }
  if (at > dataEnd) throw new Malformed();
  return Buffer.concat([...parts, message.subarray(at, dataEnd)]);
}
