import type { Policy } from "../../src/killswitch/policy.ts";
import { lanNames } from "./question.ts";
import type { Way } from "./walk.ts";

// Which property names all that may go by a way: a mistake that lets more of it go does no harm.

type End = Pick<Way, "iif" | "oif">;
type Place = "gateway" | "LAN" | "uplink" | "cable" | "tunnel" | "remote";

/** A way that is not here is named by none: more should be asked. Two homes' ways are asked as those of tunnels. */
const PROPERTIES: Readonly<Partial<Record<`${Place} > ${Place}`, "a" | "b" | "c" | "d" | "e" | "inside">>> = {
  "LAN > uplink": "a",
  "cable > cable": "a",
  "remote > uplink": "a",
  "remote > cable": "a",
  "LAN > tunnel": "b",
  "cable > tunnel": "b",
  "remote > tunnel": "b",
  "gateway > uplink": "c",
  "gateway > cable": "c",
  "gateway > tunnel": "c",
  "uplink > gateway": "d",
  "cable > gateway": "d",
  "tunnel > gateway": "d",
  "uplink > LAN": "e",
  "uplink > uplink": "e",
  "uplink > tunnel": "e",
  "tunnel > uplink": "e",
  "tunnel > tunnel": "e",
  "uplink > remote": "e",
  "cable > remote": "e",
  "tunnel > LAN": "e",
  "tunnel > cable": "e",
  "tunnel > remote": "e",
  "gateway > LAN": "inside",
  "gateway > remote": "inside",
  "LAN > gateway": "inside",
  "remote > gateway": "inside",
  "LAN > LAN": "inside",
  "LAN > remote": "inside",
  "remote > LAN": "inside",
  "remote > remote": "inside",
};

/** Null if none does. What stays between devices and the gateway is inside. */
export function propertyOf(policy: Policy, way: End) {
  return PROPERTIES[placesOf(policy, way)] ?? null;
}

export function placesOf(policy: Policy, { iif, oif }: End) {
  return `${placeOf(policy, iif)} > ${placeOf(policy, oif)}` as const;
}

/** With one card, the LAN and the uplink are one cable. */
function placeOf(policy: Policy, link: string | null): Place {
  if (link === null || link === "lo") return "gateway";
  const isLan = lanNames(policy).includes(link);
  if (link === policy.uplink) return isLan ? "cable" : "uplink";
  if (link === policy.remote?.interface) return "remote";
  return isLan ? "LAN" : "tunnel";
}
