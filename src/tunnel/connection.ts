import { type Static, Type } from "typebox";
import { checkerOf } from "../base/checker.ts";
import { enumOf } from "../base/enum.ts";
import { Name, Shown } from "../base/name.ts";
import { savedJson } from "../base/saved.ts";
import { MAIN_SLOT, MAX_TUNNELS } from "../network/slot.ts";
import { Provider, Wish } from "../servers/schema.ts";
import { Config } from "../wireguard/schema.ts";
import { isTunnelName } from "./name.ts";
import { SavedOrder } from "./order.ts";

const Assigned = Type.Object({
  label: Shown,
  country: Shown,
  city: Shown,
  location: Shown,
  config: Config,
});

/** The last date that JavaScript can write (ECMA-262, 21.4.1.1). */
export const LATEST_MS = 8.64e15;

/** The server that a tunnel leads to. */
export const Connection = Type.Object({
  provider: Provider,
  name: Name,
  /** The server through which it is reached, if any. */
  via: Type.Optional(Name),
  /** What was requested, if it was a country or a city. */
  wanted: Type.Optional(Shown),
  /** The same for `via`. */
  wanted_via: Type.Optional(Shown),
  /** How it is to be reached, if that was requested. */
  transport: Type.Optional(Wish),
  /** How its keys are to be, if that was requested. */
  quantum: Type.Optional(enumOf(["on", "require"])),
  /** The targets of which this is one; missing if it is the only one. */
  order: Type.Optional(SavedOrder),
  /** The server, if its provider assigned the configuration for this connection only. */
  assigned: Type.Optional(Assigned),
  /** Milliseconds since 1970. */
  since: Type.Number({ minimum: 0, maximum: LATEST_MS }),
});
export type Connection = Static<typeof Connection>;

/** Where `main` leads. */
export const CONNECTION = savedJson("connection", Connection, null);

/** A tunnel other than `main`, which has a setting of its own. */
const SavedTunnel = Type.Object({
  slot: Type.Integer({ exclusiveMinimum: MAIN_SLOT, exclusiveMaximum: MAX_TUNNELS }),
  connection: Type.Union([Connection, Type.Null()]),
});
export type SavedTunnel = Static<typeof SavedTunnel>;
const savedTunnel = checkerOf(SavedTunnel);

/** Those of the settings that are valid; a slot belongs to one tunnel. */
export function savedTunnelsIn(settings: Readonly<Record<string, string>>): Map<string, SavedTunnel> {
  const tunnels = new Map<string, SavedTunnel>();
  for (const [key, text] of Object.entries(settings)) {
    const name = TUNNEL_KEY.exec(key)?.[1];
    if (name === undefined || !isTunnelName(name)) continue;
    const saved = savedTunnel.read(text);
    if (saved === null) continue;
    if ([...tunnels.values()].every(({ slot }) => slot !== saved.slot)) tunnels.set(name, saved);
  }
  return tunnels;
}

/** The names in the keys of those that cannot be read. */
export function lostTunnelsIn(settings: Readonly<Record<string, string>>): string[] {
  const known = savedTunnelsIn(settings);
  const names = Object.keys(settings).flatMap((key) => TUNNEL_KEY.exec(key)?.[1] ?? []);
  return names.filter((name) => !known.has(name));
}

/** The setting in which a tunnel other than `main` is saved. */
export function tunnelKey(name: string): string {
  return `tunnel ${name}`;
}

const TUNNEL_KEY = /^tunnel (.*)$/;
