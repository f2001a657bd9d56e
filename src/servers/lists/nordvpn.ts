import { Type } from "typebox";
import { checkerOf } from "../../base/checker.ts";
import { checked, type Outcome, type Reading, readingOf } from "./entry.ts";

// NordVPN does not document these shapes; community projects read them so.

/** Distinguishes this list from other arrays. */
const anyServer = checkerOf(
  Type.Object({ hostname: Type.String(), station: Type.String(), technologies: Type.Array(Type.Unknown()) }),
);

const server = checkerOf(
  Type.Object({
    hostname: Type.String(),
    station: Type.String(),
    status: Type.String(),
    locations: Type.Array(
      Type.Object({
        country: Type.Object({ name: Type.String(), city: Type.Object({ name: Type.String() }) }),
      }),
      { minItems: 1 },
    ),
    technologies: Type.Array(Type.Unknown()),
  }),
);

const wireguard = checkerOf(
  Type.Object({ identifier: Type.Literal("wireguard_udp"), metadata: Type.Array(Type.Unknown()) }),
);
const publicKey = checkerOf(Type.Object({ name: Type.Literal("public_key"), value: Type.String() }));

/** NordLynx listens there on every server. */
const PORT = 51820;

/** NordVPN's list: api.nordvpn.com/v1/servers. */
export function readNordvpn(document: unknown): Reading | null {
  if (!Array.isArray(document) || !document.some((entry) => anyServer.Check(entry))) return null;
  return readingOf<unknown>(document, outcomeOf);
}

function outcomeOf(entry: unknown): Outcome {
  if (!server.Check(entry)) return "malformed";
  const { hostname, station, status, locations, technologies } = entry;
  const technology = technologies.find((each) => wireguard.Check(each));
  if (status !== "online" || technology === undefined) return "left out";
  const key = technology.metadata.find((each) => publicKey.Check(each))?.value ?? "";
  const { name: country = "", city } = locations[0]?.country ?? {};
  return checked({
    name: hostname,
    label: "NordVPN",
    country,
    city: city?.name ?? "",
    ipv4: station,
    port: PORT,
    publicKey: key,
  });
}
