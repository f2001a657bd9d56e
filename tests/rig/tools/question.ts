import { decode, encode, RECURSION_DESIRED } from "dns-packet";
import { LAN } from "../../../src/sandbox/topology.ts";
import { Probe, type Target } from "./probe.ts";

/** What the gateway answers to a computer of the LAN: addresses or names, or the error. */
export async function askGateway(
  namespace: string,
  name: string,
  type: "A" | "AAAA" | "PTR" = "A",
): Promise<string[]> {
  const query = encode({
    ...{ type: "query", id: 1, flags: RECURSION_DESIRED },
    questions: [{ type, name }],
  });
  const probe = await Probe.start(namespace, [
    { protocol: "udp", address: LAN.gateway4, port: 53, payload: query.toHex() },
  ]);
  await probe.until(({ answered }) => answered > 0);
  const [outcome] = await probe.stop();
  const { rcode, answers = [] } = decode(Buffer.from(outcome?.answer ?? "", "hex")) as ReturnType<
    typeof decode
  > & { rcode?: string };
  const found = answers.flatMap((each) => (each.type === type && "data" in each ? [String(each.data)] : []));
  return found.length > 0 ? found : [rcode ?? ""];
}

/** The same question to each, over UDP and TCP; the answer says who asked. */
export function questions(resolvers: readonly string[], name = "whoami.test"): Target[] {
  const query = encode({
    type: "query",
    id: 1,
    flags: RECURSION_DESIRED,
    questions: [{ type: "TXT", name }],
  });
  // RFC 1035, section 4.2.2: over TCP two bytes of length precede each message.
  const length = query.length.toString(16).padStart(4, "0");
  return resolvers.flatMap((address): Target[] => [
    { protocol: "udp", address, port: 53, payload: query.toHex() },
    { protocol: "tcp", address, port: 53, payload: `${length}${query.toHex()}` },
  ]);
}

/** From where the resolver was asked, as its answer over UDP or TCP says. */
export function askerIn(answer: string): string {
  const bytes = Buffer.from(answer, "hex");
  const message = bytes.readUInt16BE(0) === bytes.length - 2 ? bytes.subarray(2) : bytes;
  const [first] = decode(message).answers ?? [];
  return first?.type === "TXT" ? String(first.data) : "nobody";
}
