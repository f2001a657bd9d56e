import type { Device } from "../devices/schema.ts";
import { say } from "./language.ts";
import type { IconName } from "./parts/icon.tsx";

export type Kind = NonNullable<Device["icon"]>;

export const KINDS: Readonly<Record<Kind, { text: string; icon: IconName }>> = {
  phone: { text: say("Phone"), icon: "phone" },
  laptop: { text: say("Laptop"), icon: "device" },
  tv: { text: say("TV"), icon: "tv" },
  camera: { text: say("Camera"), icon: "camera" },
  console: { text: say("Games console"), icon: "console" },
  printer: { text: say("Printer"), icon: "printer" },
  speaker: { text: say("Speaker"), icon: "speaker" },
  other: { text: say("Other device"), icon: "other" },
};

/** What makers and people call devices, the more telling words first: an "Android TV" is no phone. Then makers of one kind. */
const NAMES: readonly (readonly [kind: Kind, words: RegExp])[] = [
  ["tv", /\b(tv|television|fernseher|chromecast|roku|fire ?stick|bravia|shield)\b|tv$/i],
  ["console", /\b(playstation|ps[345]|xbox|nintendo|switch|steam ?deck|console|konsole)\b/i],
  ["camera", /\b(cam|camera|kamera|doorbell|klingel|webcam)\b|cam\d*$/i],
  ["printer", /\b(printer|drucker|laserjet|officejet|deskjet|ecotank|pixma)\b/i],
  ["speaker", /\b(speaker|lautsprecher|sonos|homepod|echo|soundbar)\b/i],
  ["phone", /\b(phone|handy|iphone|pixel|galaxy|oneplus|android|smartphone|tablet|ipad)\b|phone$/i],
  ["laptop", /\b(laptop|notebook|macbook|thinkpad|desktop|pc|imac|chromebook|computer)\b|(book|laptop|pc)$/i],
  ["tv", /^(vizio|tcl|tp vision|skyworth|hisense|humax|tivo)$/i],
  ["console", /^(sony interactive.*|valve)$/i],
  ["camera", /^(hikvision|dahua|reolink|arlo|ring|wyze|axis|ezviz|gopro)$/i],
  ["printer", /^(canon|epson|brother|lexmark|xerox|ricoh|kyocera)$/i],
  ["speaker", /^(bose|harman|denon|onkyo|bang & olufsen)$/i],
  ["phone", /^(oppo|realme|vivo|honor|htc|motorola|tecno|infinix|fairphone)$/i],
  ["laptop", /^(dell|lenovo|intel|msi|acer|gigabyte)$/i],
];

/** What a person has said, or what the name tells, or else the maker. */
export function kindOf({ icon, name, maker = "" }: Pick<Device, "icon" | "name" | "maker">): Kind {
  const kindIn = (words: string) => NAMES.find(([, known]) => known.test(words))?.[0];
  return icon ?? kindIn(name.replace(/[-_.]/g, " ")) ?? kindIn(maker) ?? "other";
}

/** Whether a device made its MAC address up itself (IEEE 802, section 8.2.2), as phones do for each network. */
export function isPrivateMac(id: string): boolean {
  return /^.[26ae]:..:/.test(id);
}
