import type { TunnelRow } from "../../tunnel/schema.ts";
import { say } from "../language.ts";
import type { Fact } from "./facts.tsx";

/** How the server is reached, if that is not by plain WireGuard at its usual port. */
export function portFact({ port, transport, blocked, wanted_transport }: TunnelRow): Fact[] {
  if (port === undefined) return [];
  if (transport === undefined)
    return [[say("Port"), say("{port}, because its usual one does not answer", { port })]];
  if (transport === "amnezia")
    return [[say("Port"), say("{port}, by AmneziaWG, as its configuration says", { port })]];
  const parts = { port, way: transport, blocked: blocked ?? "" };
  const text =
    wanted_transport === undefined
      ? say(
          "{port}, {way, select, lwo {by LWO} shadowsocks {by Shadowsocks} other {over TCP}}, because {blocked, select, wireguard {WireGuard is recognised and blocked here} udp {UDP is blocked here} flows {UDP is cut off here after a while} other {plain WireGuard is blocked here}}",
          parts,
        )
      : say(
          "{port}, {way, select, lwo {by LWO} shadowsocks {by Shadowsocks} other {over TCP}}, as was asked for",
          parts,
        );
  return [[say("Port"), text]];
}
