import type { Rule } from "./ip.ts";
import { addressText, FAMILIES, protocolText, tableText } from "./listed-routes.ts";
import { type Attributes, attributesIn, type Message, textIn } from "./netlink.ts";
import type { Rtnetlink } from "./rtnetlink.ts";

/** From the kernel's headers (linux/fib_rules.h, rtnetlink.h); the same on ARM and x86. */
const GET = 34;
const HEADER_BYTES = 12;
const [DESTINATION, SOURCE, IN, PRIORITY, MARK, SUPPRESS_GROUP, SUPPRESS] = [1, 2, 3, 6, 10, 13, 14];
const [TABLE, MASK, OUT, PROTOCOL, IP_PROTOCOL, SOURCE_PORTS, PORTS] = [15, 16, 17, 21, 22, 23, 24];
const [SOURCE_MASK, PORT_MASK] = [28, 29];
const NAMED = [
  ...[DESTINATION, SOURCE, IN, PRIORITY, MARK, SUPPRESS_GROUP, SUPPRESS],
  ...[TABLE, MASK, OUT, PROTOCOL, IP_PROTOCOL, SOURCE_PORTS, PORTS, SOURCE_MASK, PORT_MASK],
];
const [INVERTED, IN_DETACHED, OUT_DETACHED] = [0x2, 0x8, 0x10];
const TO_TABLE = 1;
const ACTIONS: Readonly<Record<number, string>> = { 6: "blackhole", 7: "unreachable", 8: "prohibit" };
/** That no rule needs to say: none, the kernel's own, and those of `ip`. */
const PLAIN_PROTOCOLS = [0, 2, 3];
const IP_PROTOCOLS: Readonly<Record<number, string>> = { 6: "tcp", 17: "udp" };
const [ALL_BITS, NONE, WHOLE_PORT] = [0xffffffff, 0xffffffff, 0xffff];

/** Null if the kernel does not say, or if one of them has what only `ip` can name. */
export async function listedRules(kernel: Rtnetlink, family: 4 | 6): Promise<Rule[] | null> {
  const header = Buffer.alloc(HEADER_BYTES);
  header.writeUInt8(FAMILIES[family]);
  const found = await kernel.all({ type: GET, header });
  const rules = found?.map(ruleIn) ?? [null];
  return rules.includes(null) ? null : (rules as Rule[]);
}

function ruleIn({ body }: Message): Rule | null {
  const attributes = attributesIn(body.subarray(HEADER_BYTES));
  const [action, flags] = [body.readUInt8(7), body.readUInt32LE(8)];
  const number = (type: number) => attributes.get(type)?.readUInt32LE();
  const suppressed = number(SUPPRESS) ?? NONE;
  const [protocol, ipProtocol] = [PROTOCOL, IP_PROTOCOL].map((type) => attributes.get(type)?.readUInt8());
  const ports = { sport: portIn(attributes, SOURCE_PORTS), dport: portIn(attributes, PORTS) };
  const verdict = action === TO_TABLE ? tableIn(body, attributes) : ACTIONS[action];
  const hasService = body.readUInt8(3) !== 0;
  if (verdict === undefined || hasService || Object.values(ports).includes(null)) return null;
  if (attributes.keys().some((type) => !NAMED.includes(type))) return null;
  return {
    priority: number(PRIORITY) ?? 0,
    ...((flags & INVERTED) !== 0 && { not: null }),
    ...sourceIn(body, attributes),
    ...destinationIn(body, attributes),
    ...markIn(number(MARK), number(MASK)),
    ...linkIn("iif", attributes.get(IN), (flags & IN_DETACHED) !== 0),
    ...linkIn("oif", attributes.get(OUT), (flags & OUT_DETACHED) !== 0),
    ...(ipProtocol !== undefined && { ipproto: IP_PROTOCOLS[ipProtocol] ?? `ipproto-${ipProtocol}` }),
    ...portsIn("sport", ports.sport, attributes.get(SOURCE_MASK)),
    ...portsIn("dport", ports.dport, attributes.get(PORT_MASK)),
    ...(action === TO_TABLE ? { table: verdict } : { action: verdict }),
    ...(suppressed !== NONE && { suppress_prefixlen: suppressed }),
    ...(protocol !== undefined &&
      !PLAIN_PROTOCOLS.includes(protocol) && { protocol: protocolText(protocol) }),
  };
}

function tableIn(body: Buffer, attributes: Attributes): string {
  return tableText(attributes.get(TABLE)?.readUInt32LE() ?? body.readUInt8(4));
}

function sourceIn(body: Buffer, attributes: Attributes): Pick<Rule, "src" | "srclen"> {
  const [bytes, length] = [attributes.get(SOURCE), body.readUInt8(2)];
  if (bytes === undefined) return length === 0 ? { src: "all" } : { src: "0", srclen: length };
  return { src: addressText(bytes), ...(length !== 8 * bytes.length && { srclen: length }) };
}

function destinationIn(body: Buffer, attributes: Attributes): Pick<Rule, "dst" | "dstlen"> {
  const [bytes, length] = [attributes.get(DESTINATION), body.readUInt8(1)];
  if (bytes === undefined) return length === 0 ? {} : { dst: "0", dstlen: length };
  return { dst: addressText(bytes), ...(length !== 8 * bytes.length && { dstlen: length }) };
}

function markIn(mark: number | undefined, mask = ALL_BITS): Pick<Rule, "fwmark" | "fwmask"> {
  if (mark === undefined && mask === ALL_BITS) return {};
  const hex = (value: number) => (value === 0 ? "0" : `0x${value.toString(16)}`);
  return { fwmark: hex(mark ?? 0), ...(mask !== ALL_BITS && { fwmask: hex(mask) }) };
}

function linkIn(which: "iif" | "oif", name: Buffer | undefined, isDetached: boolean): Partial<Rule> {
  if (name === undefined) return {};
  return { [which]: textIn(name), ...(isDetached && { [`${which}_detached`]: null }) };
}

/** Null for more than one. */
function portIn(attributes: Attributes, type: number): number | null | undefined {
  const range = attributes.get(type);
  if (range === undefined) return undefined;
  const [first, last] = [range.readUInt16LE(), range.readUInt16LE(2)];
  return first === last ? first : null;
}

function portsIn(
  which: "sport" | "dport",
  port: number | null | undefined,
  bits: Buffer | undefined,
): Partial<Rule> {
  const mask = bits?.readUInt16LE() ?? WHOLE_PORT;
  if (port == null) return {};
  return { [which]: port, ...(mask !== WHOLE_PORT && { [`${which}_mask`]: `0x${mask.toString(16)}` }) };
}
