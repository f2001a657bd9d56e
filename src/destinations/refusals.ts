import { refusals } from "../base/refusals.ts";

export const refused = refusals({
  "not_found: id": { rule_unknown: "there is no such rule; to list them: portcullis destinations" },
  bad_request: {
    rule_conflict:
      "{part} would be in two rules for the same devices: in this one, to {exit}, and in {rule} ({target}, to {other}); change or remove that one",
    rules_too_long: "the rules would have {count} in all, and {max} is the maximum",
  },
  "bad_request: name": {
    rule_to_tunnel: "the rule {rule} leads {target} to {tunnel}; change or remove it first",
    target_invalid: "must be a name or an IP address, such as example.com or 203.0.113.7",
  },
  "bad_request: names": {
    rule_empty: "there are none, and no prefixes either",
    name_of_home: "{name} is a name of the home, which no exit leads to",
    name_invalid: "{name} is not a name, such as example.com",
  },
  "bad_request: prefixes": {
    prefix_invalid: "{prefix} is not an address or a network, such as 203.0.113.0/24 or 2001:db8::/32",
    prefix_special:
      "{prefix} has addresses that never leave the LAN, such as those of groups or of the machine itself",
    prefix_owned: "{prefix} has addresses of {owner}, which no exit leads to",
  },
  "bad_request: exit": {
    direct_for_prefix: "direct is for all devices or for single ones, by MAC address, not for a prefix",
  },
  "bad_request: note": { note_invalid: "contains a control character" },
});
