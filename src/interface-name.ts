/** The kernel's longest (IFNAMSIZ less the zero at its end). */
const MOST_CHARACTERS = 15;

/** What stands behind the base name of a tunnel's interfaces: a digit, and room for a second. */
const MOST_DIGITS = 2;

/**
 * The names of network interfaces that the gateway works with. The kernel allows more, of which quotes and a star at
 * the end would mean something else in a ruleset.
 */
export const INTERFACE_NAME = namesOf(MOST_CHARACTERS);

/** The base names that the operator may give a tunnel's interfaces. */
export const BASE_NAME = namesOf(MOST_CHARACTERS - MOST_DIGITS);

function namesOf(longest: number): RegExp {
  return new RegExp(`^[A-Za-z0-9_.-]{1,${longest}}$`);
}
