/** The kernel's limit (IFNAMSIZ without the NUL at the end). */
const MAX_CHARACTERS = 15;

/** The suffix of the base name of a tunnel's interfaces: a digit, and room for a second. */
const MAX_DIGITS = 2;

/**
 * The names of network interfaces that the gateway accepts. The kernel allows more characters, but quotes and an
 * asterisk at the end have another meaning in a ruleset.
 */
export const INTERFACE_NAME = namesOf(MAX_CHARACTERS);

/** The base names that the operator may give a tunnel's interfaces. */
export const BASE_NAME = namesOf(MAX_CHARACTERS - MAX_DIGITS);

/**
 * Whether an interface of the gateway may have this name: there are two for each of up to eight tunnels, and one for
 * remote devices.
 */
export function isTunnelLink(name: string, base: string): boolean {
  return name.startsWith(base) && /^([0-9]|1[0-5]|r)$/.test(name.slice(base.length));
}

function namesOf(longest: number): RegExp {
  return new RegExp(`^[A-Za-z0-9_.-]{1,${longest}}$`);
}
