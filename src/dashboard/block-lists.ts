import type { DnsLists, DnsListsBody } from "../dns/schema.ts";
import { BLOCK_LISTS, type BlockList } from "../shared/block-lists.ts";
import { say } from "./language.ts";

const TITLES: Readonly<Record<BlockList["about"], string>> = {
  advertisements: say("Advertisements and tracking"),
  more: say("Advertisements, tracking and malware"),
  malware: say("Malware"),
  adults: say("Sites for adults"),
};

/** What a list of ours is about: "Malware"; null for one that is not ours. */
export function aboutOf(url: string): string | null {
  const known = BLOCK_LISTS.find((each) => each.url === url);
  return known === undefined ? null : TITLES[known.about];
}

/** "Malware (URLhaus, about 600 names, CC0-1.0)" */
export function choiceOf({ about, keeper, names, license }: BlockList): string {
  return say("{about} ({keeper}, about {names, number} names, {license})", {
    about: TITLES[about],
    keeper,
    names,
    license,
  });
}

const ADVERTISEMENTS = BLOCK_LISTS.filter(({ about }) => about === "advertisements" || about === "more").map(
  ({ url }) => url,
);
/** It breaks little. */
const [GENTLE = ""] = ADVERTISEMENTS;

type Lists = DnsLists["lists"];
type WantedLists = DnsListsBody["lists"];

/** Whether a list of ours blocks advertisements for the device: for all devices, for some with this one, or not at all. */
export function advertisementsOf(lists: Lists, device: string): "all" | "own" | "none" {
  const own = lists.filter(({ url, on }) => on && ADVERTISEMENTS.includes(url));
  if (own.some(({ devices }) => devices.length === 0)) return "all";
  return own.some(({ devices }) => devices.includes(device)) ? "own" : "none";
}

/** The lists with one that blocks advertisements for the device, too. One that was off is on again, for this one only. */
export function withAdvertisementsBlocked(lists: Lists, device: string): WantedLists {
  const known = lists.find(({ url }) => url === GENTLE);
  if (known === undefined) return [...lists, { url: GENTLE, devices: [device] }];
  const devices = known.on ? [...known.devices, device] : [device];
  return lists.map((each) => (each === known ? { ...each, devices, on: true } : each));
}

/** The lists without that. One that is for no device any more is left out: without devices it would be for all. */
export function withAdvertisementsOpen(lists: Lists, device: string): WantedLists {
  return lists.flatMap((each) => {
    if (!ADVERTISEMENTS.includes(each.url) || !each.devices.includes(device)) return [each];
    const devices = each.devices.filter((id) => id !== device);
    return devices.length === 0 ? [] : [{ ...each, devices }];
  });
}
