import { decode, encode, RECURSION_DESIRED } from "dns-packet";
import { LAN } from "../../../src/sandbox/topology.ts";
import { Probe } from "./probe.ts";

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
