/** The zone of a home's own devices (RFC 8375), which the gateway's DHCP server tells them to search. */
export const HOME_ZONE = "home.arpa";
/** The gateway's own name in it. */
export const GATEWAY_LABEL = "portcullis";

/** Whether a name in lower case is that zone, or in it. */
export function isInHomeZone(name: string): boolean {
  return name === HOME_ZONE || name.endsWith(`.${HOME_ZONE}`);
}
