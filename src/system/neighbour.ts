import { ptr } from "bun:ffi";
import { type Address, bytesOf, familyOf } from "../base/address.ts";
import { type Mac, parseMac } from "../base/mac.ts";
import { libc, NONBLOCK_CLOEXEC } from "./libc.ts";
import { attribute, attributesIn, REQUEST, receive } from "./netlink.ts";

/** From the kernel's headers (linux/netlink.h, rtnetlink.h, neighbour.h); the same on ARM and x86. */
const [AF_NETLINK, SOCK_RAW, NETLINK_ROUTE] = [16, 3, 0];
const [NEW_NEIGHBOUR, GET_NEIGHBOUR] = [28, 30];
const [DESTINATION, LINK_ADDRESS] = [1, 2];
const FAMILIES = { 4: 2, 6: 10 };
/** Netlink's header, and that of neighbours behind it. */
const [HEADER_BYTES, OWN_HEADER_BYTES] = [16, 12];

/** The MAC address that the kernel has for an address on a link; null for none. It takes some microseconds. */
export function macAt(address: Address, link: string): Mac | null {
  const index = libc().if_nametoindex(ptr(Buffer.from(`${link}\0`)));
  if (index === 0) return null;
  const socket = libc().socket(AF_NETLINK, SOCK_RAW | NONBLOCK_CLOEXEC, NETLINK_ROUTE);
  if (socket < 0) return null;
  try {
    const question = questionFor(address, index);
    libc().send(socket, ptr(question), question.length, 0);
    // The kernel has answered by then.
    const found = receive(socket).find(({ type }) => type === NEW_NEIGHBOUR);
    const bytes = attributesIn(found?.body.subarray(OWN_HEADER_BYTES)).get(LINK_ADDRESS);
    return parseMac(bytes?.toString("hex").replace(/(..)(?=.)/g, "$1:") ?? "");
  } finally {
    libc().close(socket);
  }
}

function questionFor(address: Address, link: number): Buffer {
  const headers = Buffer.alloc(HEADER_BYTES + OWN_HEADER_BYTES);
  const message = Buffer.concat([headers, attribute(DESTINATION, bytesOf(address))]);
  message.writeUInt32LE(message.length);
  message.writeUInt16LE(GET_NEIGHBOUR, 4);
  message.writeUInt16LE(REQUEST, 6);
  message.writeUInt8(FAMILIES[familyOf(address)], HEADER_BYTES);
  message.writeInt32LE(link, HEADER_BYTES + 4);
  return message;
}
