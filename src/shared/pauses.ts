/** The schedule that blocks a device for some time; a slash cannot be in an address. */
export function pauseName(device: string): string {
  return `pause ${device.replaceAll("/", "-")}`;
}

/** What the page and the command line offer as the end of a pause in the morning. */
export const MORNING = "07:00";
