/** The zone of a home's own devices (RFC 8375), which the gateway's DHCP server tells them to search. */
export const HOME_ZONE = "home.arpa";
/** The gateway's own name in it. */
export const GATEWAY_LABEL = "portcullis";

/** As the gateway's own resolver names it. No page of the internet can have these names. */
export const NAMES_AT_HOME: readonly string[] = [GATEWAY_LABEL, `${GATEWAY_LABEL}.${HOME_ZONE}`];

/** Whether a name in lower case is that zone, or in it. */
export function isInHomeZone(name: string): boolean {
  return name === HOME_ZONE || name.endsWith(`.${HOME_ZONE}`);
}
