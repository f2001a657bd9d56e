import { Type } from "typebox";
import { isHostName } from "../../base/address.ts";
import { checkerOf } from "../../base/checker.ts";
import { checked, type Outcome, type Reading, readingOf } from "./entry.ts";

// PIA's manual-connections uses these shapes (get_region.sh).

const list = checkerOf(Type.Object({ groups: Type.Unknown(), regions: Type.Array(Type.Unknown()) }));

const region = checkerOf(
  Type.Object({
    name: Type.String(),
    /** ISO 3166-1. */
    country: Type.String({ pattern: "^[A-Z]{2}$" }),
    offline: Type.Optional(Type.Boolean()),
    /** Whether its servers open ports. */
    port_forward: Type.Optional(Type.Boolean()),
    servers: Type.Object({ wg: Type.Optional(Type.Array(Type.Unknown())) }),
  }),
);

/** `cn` is the name in the server's certificate. */
const address = checkerOf(Type.Object({ ip: Type.String(), cn: Type.String() }));

/** Where a server registers keys; it then assigns another port to WireGuard. */
const PORT = 1337;

interface Entry {
  country: string;
  city: string;
  opensPorts: boolean;
  server: unknown;
}

/** PIA's list: serverlist.piaservers.net/vpninfo/servers/v6, without the signature that follows it. */
export function readPia(document: unknown): Reading | null {
  if (!list.Check(document)) return null;
  const names = new Intl.DisplayNames(["en"], { type: "region" });
  const entries = document.regions.flatMap((each): (Entry | null)[] => {
    if (!region.Check(each)) return [null];
    if (each.offline) return [];
    const country = names.of(each.country) ?? each.country;
    const place = { country, city: cityIn(each.name), opensPorts: each.port_forward !== false };
    return (each.servers.wg ?? []).map((one) => ({ ...place, server: one }));
  });
  return readingOf(entries, outcomeOf);
}

function outcomeOf(entry: Entry | null): Outcome {
  if (entry === null || !address.Check(entry.server) || !isHostName(entry.server.cn)) return "malformed";
  const { ip, cn } = entry.server;
  const { country, city, opensPorts } = entry;
  const server = checked({ name: cn, label: "PIA", country, city, ipv4: ip, port: PORT, publicKey: null });
  return opensPorts || server === "malformed" ? server : { ...server, opensPorts: false };
}

/** `DE Berlin` and `US East`, but also `Netherlands`. */
function cityIn(name: string): string {
  return name.replace(/^[A-Z]{2} (?=\S)/, "");
}
