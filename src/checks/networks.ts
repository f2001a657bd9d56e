import type { LanNetwork, LanNetworkList } from "../devices/network-schema.ts";
import { type Finding, ok } from "./finding.ts";

/** What reaches what; null with only one network. */
export function networksFinding({ networks }: LanNetworkList): Finding | null {
  const present = networks.filter((each) => each.present);
  if (present.length < 2) return null;
  const open = present.filter(({ reaches }) => reaches.length > 0);
  const closed = present.filter(({ page }) => !page);
  return ok("networks", {
    exits: present.map((each) => `${titleOf(each)} → ${each.exit}`).join(", "),
    ...{ open: namesOf(open), closed: namesOf(closed) },
  });
}

/** `none` is a word of the sentence. */
function namesOf(networks: readonly LanNetwork[]): string {
  return networks.length === 0 ? "none" : networks.map(titleOf).join(", ");
}

function titleOf({ interface: link, name }: LanNetwork): string {
  return name === "" ? link : `${name} (${link})`;
}
