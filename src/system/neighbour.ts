import { ptr } from "bun:ffi";
import { type Address, bytesOf, familyOf } from "../base/address.ts";
import { type Mac, parseMac } from "../base/mac.ts";
import { libc } from "./libc.ts";
import { macText, NEIGHBOUR } from "./listed-neighbours.ts";
import { FAMILIES } from "./listed-routes.ts";
import { attribute, attributesIn } from "./netlink.ts";
import { Rtnetlink } from "./rtnetlink.ts";

/** The MAC address that the kernel has for an address on a link; null for none. It takes some microseconds. */
export function macAt(address: Address, link: string): Mac | null {
  const index = libc().if_nametoindex(ptr(Buffer.from(`${link}\0`)));
  if (index === 0) return null;
  using kernel = Rtnetlink.open();
  const header = Buffer.alloc(NEIGHBOUR.headerBytes);
  header.writeUInt8(FAMILIES[familyOf(address)]);
  header.writeInt32LE(index, 4);
  const attributes = [attribute(NEIGHBOUR.destination, bytesOf(address))];
  const found = kernel?.oneAtOnce({ type: NEIGHBOUR.get, header, attributes });
  return parseMac(macText(attributesIn(found?.body.subarray(NEIGHBOUR.headerBytes)).get(NEIGHBOUR.mac)));
}
