import type { Clients } from "./clients.ts";
import type { Gate } from "./gate.ts";
import { refused } from "./refusals.ts";

/** Who sends a request: its address, its device as limits count it, and the name of its token or null. */
export interface Client {
  address: string;
  device: string;
  token: string | null;
}

interface Known {
  gate: Pick<Gate, "holderOf">;
  clients: Pick<Clients, "of">;
  serverOf: (request: Request) => { requestIP(request: Request): { address: string } | null } | null;
}

export function clientOf(request: Request, { gate, clients, serverOf }: Known): Client {
  const address = serverOf(request)?.requestIP(request)?.address ?? "";
  return { address, device: clients.of(request), token: gate.holderOf(request)?.name ?? null };
}

/** Without tokens no client is known but owners: then whatever grants `danger` is left to them, and to root's commands. */
export function refuseUnknown(
  request: Request,
  { gate }: { gate: Pick<Gate, "auth" | "holderOf"> },
  { danger, commands }: { danger: "keys" | "token"; commands: string },
): void {
  if (gate.auth !== "off" || gate.holderOf(request)?.isOwner) return;
  throw refused("anyone_could", { danger, commands });
}

/** As alerts name whoever has changed something. */
export function nameOf({ address, token }: Pick<Client, "address" | "token">): string {
  return token === null ? address : `the token ${token}`;
}
