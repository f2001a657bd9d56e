/** Rows that errors of several rooms have. */
export const COMMON = {
  required: { code: "bad_request", text: "{field} is required" },
  limit_reached: { code: "bad_request", text: "there are {max} {of}, the maximum; remove one first" },
  listed_twice: { code: "bad_request", text: "{name} is there twice" },
  name_unresolved: { code: "unable", text: "the name {name} does not resolve" },
  outside_tunnel: { code: "unable", text: "the tunnel does not lead to {host}" },
} as const;
