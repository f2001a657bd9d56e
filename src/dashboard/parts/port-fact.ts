import type { TunnelRow } from "../../tunnel/schema.ts";
import { say } from "../language.ts";
import type { Fact } from "./facts.tsx";

/** How the server is reached, if that is not by plain WireGuard at its usual port. */
export function portFact({ port, transport, wanted_transport }: TunnelRow): Fact[] {
  if (port === undefined) return [];
  if (transport === undefined)
    return [[say("Port"), say("{port}, because its usual one does not answer", { port })]];
  const text =
    wanted_transport === undefined
      ? say("{port}, over TCP, because plain WireGuard is blocked here", { port })
      : say("{port}, over TCP, as was asked for", { port });
  return [[say("Port"), text]];
}
