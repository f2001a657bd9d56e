import { ptr } from "bun:ffi";
import { libc } from "./libc.ts";
import { attributesIn, messageOf, openNetfilter, REQUEST, receive } from "./netlink.ts";

/** From the kernel's header (nf_tables.h). */
const NF_TABLES = 10 << 8;
const [NEW_GENERATION, GET_GENERATION] = [NF_TABLES | 15, NF_TABLES | 16];
const ID = 1;

/**
 * The number of the last change of the firewall, whoever made it. The kernel answers within the call and waits for
 * nobody, so this takes some microseconds, where a program takes milliseconds.
 */
export class FirewallGeneration {
  private socket = -1;

  /** Null if the kernel does not tell. */
  read(): number | null {
    if (this.socket < 0) this.socket = openNetfilter();
    const request = messageOf({ type: GET_GENERATION, flags: REQUEST }, []);
    if (this.socket < 0 || Number(libc().send(this.socket, ptr(request), request.length, 0)) < 0) return null;
    const answer = receive(this.socket).findLast(({ type }) => type === NEW_GENERATION);
    return attributesIn(answer?.body.subarray(4)).get(ID)?.readUInt32BE() ?? null;
  }
}
