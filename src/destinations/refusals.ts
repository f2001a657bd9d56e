import { COMMON } from "../base/common-refusals.ts";
import { refusals } from "../base/refusals.ts";

export const refused = refusals({
  limit_reached: COMMON.limit_reached,
  prefix_with_host_bits: COMMON.prefix_with_host_bits,
  rule_unknown: {
    code: "not_found",
    field: "id",
    text: "there is no such rule; to list them: portcullis destinations",
  },
  rule_to_tunnel: {
    code: "bad_request",
    field: "name",
    text: "the rule {rule} leads {target} to {tunnel}; change or remove it first",
  },
  rule_empty: { code: "bad_request", field: "names", text: "there are none, and no prefixes either" },
  rule_conflict: {
    code: "bad_request",
    text: "{part} would be in two rules for the same devices: in this one, to {exit}, and in {rule} ({target}, to {other}); change or remove that one",
  },
  rules_too_long: {
    code: "bad_request",
    text: "the rules would have {count} in all, and {max} is the maximum",
  },
  name_of_home: {
    code: "bad_request",
    field: "names",
    text: "{name} is a name of the home, which no exit leads to",
  },
  name_invalid: { code: "bad_request", field: "names", text: "{name} is not a name, such as example.com" },
  prefix_invalid: {
    code: "bad_request",
    field: "prefixes",
    text: "{prefix} is not an address or a network, such as 203.0.113.0/24 or 2001:db8::/32",
  },
  prefix_special: {
    code: "bad_request",
    field: "prefixes",
    text: "{prefix} has addresses that never leave the LAN, such as those of groups or of the machine itself",
  },
  prefix_owned: {
    code: "bad_request",
    field: "prefixes",
    text: "{prefix} has addresses of {owner}, which no exit leads to",
  },
  direct_for_prefix: {
    code: "bad_request",
    field: "exit",
    text: "direct is for all devices or for single ones, by MAC address, not for a prefix",
  },
  note_invalid: { code: "bad_request", field: "note", text: "contains a control character" },
  target_invalid: {
    code: "bad_request",
    field: "name",
    text: "must be a name or an IP address, such as example.com or 203.0.113.7",
  },
});
