import { domainToASCII } from "node:url";
import type { HostName } from "./address.ts";

/**
 * Labels of any letters, digits, hyphens and underscores: DNS has more names than there are hosts (RFC 2181, section 11).
 * The last one is no number, decimal or hexadecimal, because that would be an address (WHATWG URL, "ends in a number").
 */
const NAME = /^(?=.{1,253}$)(?:[a-z0-9_-]{1,63}\.)*(?!0x[0-9a-f]*$)(?=[0-9_-]*[a-z])[a-z0-9_-]{1,63}$/;
/** Of ASCII, these have a meaning in an address of the web, from which the function below would take the name. */
const FOREIGN = /[^\w.*\u0080-\uffff-]/;

/**
 * The name that people or lists mean, in lower case and ASCII (RFC 5891), or null if it is none. `example.com.`,
 * `.example.com` and `*.example.com` are `example.com`: a name stands for itself and for everything below it.
 */
export function parseDomainName(text: string): HostName | null {
  const ascii = /[^\0-\x7f]/.test(text) && !FOREIGN.test(text) ? domainToASCII(text) : text;
  const name = ascii.toLowerCase().replace(/^\*?\.|\.$/g, "");
  return NAME.test(name) ? (name as HostName) : null;
}
