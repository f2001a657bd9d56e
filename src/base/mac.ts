declare const KIND: unique symbol;
/** The MAC address of one network interface in lower case, with colons; only `parseMac` makes it. */
export type Mac = string & { readonly [KIND]: "MAC" };

/** Null if the text is not one. */
export function parseMac(text: string): Mac | null {
  if (!/^[0-9a-f]{2}(:[0-9a-f]{2}){5}$|^[0-9a-f]{2}(-[0-9a-f]{2}){5}$/i.test(text)) return null;
  const mac = text.toLowerCase().replaceAll("-", ":");
  // The lowest bit of the first byte marks groups of interfaces (IEEE 802, section 8.2).
  const isGroup = (Number.parseInt(mac.slice(0, 2), 16) & 1) === 1;
  return isGroup || mac === "00:00:00:00:00:00" ? null : (mac as Mac);
}
