import { CommandError, type GatewayError } from "../base/errors.ts";
import { TunnelRows } from "../http/schema.ts";
import { viaText } from "../servers/hops.ts";
import { tunnelTitle } from "../shared/words.ts";
import type { Last } from "../tunnel/last.ts";
import { type Api, LONG_ANSWER_TIMEOUT_MS } from "./api.ts";

/** How a server is to be reached, and what comes next if it does not work; named as the options. */
export interface How {
  then?: readonly string[];
  back?: number;
  quiet?: true;
  leave?: readonly string[];
  via?: string;
  transport?: string;
  quantum?: string;
}

export const HOW = ["then", "back", "quiet", "leave", "via", "transport", "quantum"] as const;

/** A connect that is asked for. */
export interface Asked {
  /** Where it should lead, for people. */
  title: string;
  /** The body of the request. */
  body: object;
  /** How long it may take; as usual if it is undefined. */
  withinMs: number | undefined;
}

/** The named server, or without a name what the tunnel led to last. */
export async function askedOf(
  api: Api,
  tunnel: string,
  server: string | undefined,
  flags: How & { provider?: string },
): Promise<Asked> {
  const given = ([...HOW, "provider"] as const).filter((name) => flags[name] !== undefined);
  const how = Object.fromEntries(given.map((name) => [name, flags[name]])) as typeof flags;
  if (server !== undefined) return namedBy(server, how);
  if (Object.keys(how).length > 0) throw missing("where should the tunnel lead?");
  const { tunnels } = await api.get("/api/tunnels", TunnelRows);
  const row = tunnels.find(({ name }) => name === tunnel);
  if (row?.last !== undefined) return again(row.last);
  const title = `the ${tunnelTitle(tunnel)}`;
  throw missing(
    row?.wanted == null
      ? `${title} led nowhere before, or nothing of that can be had now`
      : `${title} should lead to ${viaText(row.wanted, row.wanted_via)} already`,
  );
}

function namedBy(
  server: string,
  { then, back, quiet, leave, quantum, provider, ...each }: How & { provider?: string },
): Asked {
  const rest = {
    ...(provider !== undefined && { provider }),
    ...(quantum !== undefined && { quantum }),
    ...(back !== undefined && { back_after_minutes: back }),
    ...(quiet !== undefined && { back_when_quiet: true }),
    ...(leave !== undefined && { move_when: leave }),
  };
  const title = viaText(server, each.via);
  if (then === undefined) return { title, body: { server, ...each, ...rest }, withinMs: undefined };
  const targets = [server, ...then].map((name) => ({ server: name, ...each }));
  return { title, body: { targets, ...rest }, withinMs: LONG_ANSWER_TIMEOUT_MS };
}

function again(last: Last): Asked {
  const withinMs = last.targets.length > 1 ? LONG_ANSWER_TIMEOUT_MS : undefined;
  return { title: targetsText(last), body: last, withinMs };
}

/** The names of the targets, the best first. */
export function targetsText({ targets }: Pick<Last, "targets">): string {
  return targets.map(({ server, via }) => viaText(server, via)).join(", then ");
}

function missing(why: string): GatewayError {
  return new CommandError("bad_request", `missing argument 'server': ${why}`);
}
