import type { TunnelRow } from "../../tunnel/schema.ts";
import { say } from "../language.ts";
import { byText, isDemanded } from "../transport-texts.ts";
import type { Fact } from "./facts.tsx";

/** How the server is reached, if that is not by plain WireGuard at its usual port. */
export function portFact(row: TunnelRow): Fact[] {
  const { port } = row;
  return port === undefined ? [] : [[say("Port"), portText(port, row)]];
}

function portText(port: number, { transport, blocked, wanted_transport }: TunnelRow): string {
  if (transport === undefined) return say("{port}, because its usual one does not answer", { port });
  const way = byText(transport);
  if (isDemanded(transport)) return say("{port}, {way}, as its configuration says", { port, way });
  if (wanted_transport !== undefined) return say("{port}, {way}, as was asked for", { port, way });
  return say(
    "{port}, {way}, because {blocked, select, wireguard {WireGuard is recognised and blocked here} udp {UDP is blocked here} flows {UDP is cut off here after a while} other {plain WireGuard is blocked here}}",
    { port, way, blocked: blocked ?? "" },
  );
}
