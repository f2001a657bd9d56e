/** Errors of several rooms. */
export const COMMON = {
  bad_request: {
    required: "{field} is required",
    limit_reached:
      "there are {max} {of, select, remotes {devices away from home} other {{of}}}, the maximum; remove one first",
    listed_twice: "{name} is there twice",
    prefix_with_host_bits: "{prefix} has host bits; the network is {network}",
    name_malformed:
      "{fault, select, length {must have 1 to {max} characters} surrogate {contains half of a surrogate pair} control {contains a control character} slash {contains a slash} path {cannot be part of a URL path} space {begins or ends with white space} other {is not in Unicode normalization form C}}",
  },
  "bad_request: passphrase": { passphrase_short: "must have at least {min} characters" },
  "bad_request: port": { port_invalid: "must be a number from 1 to 65535" },
  "bad_request: name": {
    name_secret: "looks like a secret; choose one such as phone",
    name_exists: "{name} exists; remove it first, or choose another name",
  },
  unable: {
    name_unresolved: "the name {name} does not resolve",
    outside_tunnel: "the tunnel does not lead to {host}",
    too_long_to_keep: "{setting} is too long to be kept",
  },
} as const;
