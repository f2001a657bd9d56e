import type { Server } from "../servers/schema.ts";
import type { Session } from "./session.ts";

/** Sessions that fit on one interface: the same own key, and each server's key once. One with a relay is alone. */
export type Round = readonly [Session, ...Session[]];

/** As few rounds as possible, because they run one after the other. */
export function roundsOf(sessions: readonly Session[]): Round[] {
  const rounds: [Session, ...Session[]][] = [];
  for (const session of sessions) {
    const { config } = session.server;
    const round = rounds.find(
      (those) =>
        session.transport === undefined &&
        those[0].transport === undefined &&
        those[0].server.config.interface.privateKey === config.interface.privateKey &&
        those.every((other) => other.server.config.peer.publicKey !== config.peer.publicKey),
    );
    if (round === undefined) rounds.push([session]);
    else round.push(session);
  }
  return rounds;
}

/** The server without tunnel addresses, resolvers and allowed IPs, so that no traffic can go to it. */
export function withoutRoutes(server: Server): Server {
  const { interface: own, peer } = server.config;
  return {
    ...server,
    config: { interface: { ...own, addresses: [], dns: [] }, peer: { ...peer, allowedIps: [] } },
  };
}
