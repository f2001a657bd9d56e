import { refusals } from "./refusals.ts";

/** Rows that errors of several rooms have. */
export const COMMON = {
  required: { code: "bad_request", text: "{field} is required" },
  limit_reached: {
    code: "bad_request",
    text: "there are {max} {of, select, remotes {devices away from home} other {{of}}}, the maximum; remove one first",
  },
  listed_twice: { code: "bad_request", text: "{name} is there twice" },
  name_unresolved: { code: "unable", text: "the name {name} does not resolve" },
  outside_tunnel: { code: "unable", text: "the tunnel does not lead to {host}" },
  port_invalid: { code: "bad_request", field: "port", text: "must be a number from 1 to 65535" },
  prefix_with_host_bits: { code: "bad_request", text: "{prefix} has host bits; the network is {network}" },
  name_malformed: {
    code: "bad_request",
    text: "{fault, select, length {must have 1 to {max} characters} surrogate {contains half of a surrogate pair} control {contains a control character} slash {contains a slash} path {cannot be part of a URL path} space {begins or ends with white space} other {is not in Unicode normalization form C}}",
  },
  name_secret: { code: "bad_request", field: "name", text: "looks like a secret; choose one such as phone" },
  name_exists: {
    code: "bad_request",
    field: "name",
    text: "{name} exists; remove it first, or choose another name",
  },
  too_long_to_keep: { code: "unable", text: "{setting} is too long to be kept" },
} as const;

/** For this room itself. */
export const refused = refusals({
  name_malformed: COMMON.name_malformed,
  too_long_to_keep: COMMON.too_long_to_keep,
});
