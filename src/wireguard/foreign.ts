import { type Field, portIn } from "./fields.ts";
import { refused } from "./refusals.ts";

/** Whether wg-quick would run the key's value as root. Keys are in lower case here and below. */
export function isHook(key: string): boolean {
  return ["preup", "postup", "predown", "postdown"].includes(key);
}

/** Why the gateway cannot do what a key of amneziawg-tools asks for; null if it is none of those. */
export function lacking(key: string): string | null {
  if (OF_AMNEZIA_3.test(key))
    return "needs version 3 of AmneziaWG, which is in the package amneziawg and not in the gateway; ask for a configuration of version 2 or 1";
  return OF_NO_AMNEZIA.test(key)
    ? "no version of AmneziaWG in use has this key; ask for a newer configuration"
    : null;
}

const OF_AMNEZIA_3 =
  /^(headerprotectionkey|contentpaddingaddition|rekeyaftertime|rekeytimeout|rejectaftertime|keepalivetimeout|maxhandshakeattempts|randomtrailers|disablecookies)$/;
/** Version 2 has removed what version 1.5 had. */
const OF_NO_AMNEZIA = /^(j[1-3]|itime)$/;

/**
 * Whether wg, wg-quick or amneziawg-tools know the key there, but the gateway chooses its value itself. Even such a key
 * must have a value that they would accept.
 */
export function isInert(section: keyof typeof INERT, key: string, field: Field): boolean {
  const check = new Map(Object.entries<(field: Field) => unknown>(INERT[section])).get(key);
  check?.(field);
  return check !== undefined;
}

const INERT = {
  Interface: {
    saveconfig: (field: Field) => matching(field, /^(true|false)$/, "must be true or false"),
    table: (field: Field) =>
      matching(field, /^[A-Za-z0-9_.-]{1,64}$/, "must be off, auto or a routing table"),
    fwmark: (field: Field) => matching(field, MARK, "must be off or a 32-bit number"),
    // 0 is any port (wg(8)).
    listenport: (field: Field) => field.text === "0" || portIn(field),
  },
  Peer: {
    // A server's mark of who speaks AmneziaWG; what its messages look like is said in `[Interface]`.
    advancedsecurity: (field: Field) => matching(field, /^(on|off|[0-9]{1,10})$/i, "must be on or off"),
  },
};

const MARK = /^(off|0|[1-9][0-9]{0,9}|0x[0-9a-f]{1,8})$/i;

function matching({ text, where }: Field, pattern: RegExp, what: string): void {
  if (!pattern.test(text)) throw refused("config_foreign_value", { field: where, reason: what });
  if (pattern === MARK && Number(text) > 0xffff_ffff)
    throw refused("config_foreign_value", { field: where, reason: what });
}
