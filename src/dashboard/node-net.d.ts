/** The types of the interface lead to `address.ts`, which imports this; the page does not. */
declare module "node:net" {
  export function isIPv4(text: string): boolean;
  export function isIPv6(text: string): boolean;
}
