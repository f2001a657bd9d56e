import { decode, encode, RECURSION_DESIRED } from "dns-packet";
import { INTERNET, LAN, ROUTER, TUNNEL } from "../../../src/sandbox/topology.ts";
import type { Target } from "../tools/probe.ts";
import type { Stage } from "./stage.ts";

/** Whom a program may ask for names: on the internet, the gateway, and the home router. */
export function resolversFor({ cards }: Stage, asker: "client" | "gateway"): string[] {
  const home = ROUTER.lan[cards];
  const internet = [INTERNET.dns4, INTERNET.dns6, "9.9.9.9"];
  if (asker === "gateway") return [...internet, home.v4, home.v6];
  const own = [LAN.gateway4, LAN.gateway6];
  // With one card the client reaches the home router on the switch: no packet of that passes the gateway.
  return cards === 1 ? [...internet, ...own] : [...internet, ...own, home.v4, home.v6];
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

/** Whom a device may ask: the same, the resolvers inside the tunnels, and a host of its own LAN that it takes for one. */
export function resolversForDevice(stage: Stage): string[] {
  return [...resolversFor(stage, "client"), TUNNEL.server4, TUNNEL.server6, LAN.client4];
}

/** From where the resolver was asked, as its answer over UDP or TCP says. */
export function askerIn(answer: string): string {
  const bytes = Buffer.from(answer, "hex");
  const message = bytes.readUInt16BE(0) === bytes.length - 2 ? bytes.subarray(2) : bytes;
  const [first] = decode(message).answers ?? [];
  return first?.type === "TXT" ? String(first.data) : "nobody";
}
