import { refusals } from "../base/refusals.ts";

/** What a configuration lacks. Its field is where that is: "line 7: Endpoint", or "endpoint" in a form. */
export const refused = refusals({
  config_missing: { code: "bad_request", text: "{field} is missing" },
  config_of_kind: { code: "bad_request", field: "config", text: "{reason}" },
  config_without_peer: { code: "bad_request", field: "config", text: "has no [Peer]" },
  config_with_peers: {
    code: "bad_request",
    text: "there are several peers; the gateway uses exactly one",
  },
  config_too_long: { code: "bad_request", text: "is longer than {max} characters" },
  config_character: {
    code: "bad_request",
    text: "contains {which, select, nul {a NUL character} other {a carriage return that does not end a line}}",
  },
  config_line_invalid: { code: "bad_request", text: "is neither a [Section] nor a key = value" },
  config_before_section: { code: "bad_request", text: "comes before any [Section]" },
  config_section_unknown: { code: "bad_request", text: "unknown section" },
  config_section_wrong: { code: "bad_request", text: "belongs in [{section}], not in [{other}]" },
  config_key_unknown: { code: "bad_request", text: "unknown key in [{section}]" },
  config_unsupported: { code: "bad_request", text: "{reason}" },
  config_command: {
    code: "bad_request",
    text: "the gateway does not run commands from a configuration; nothing was imported",
  },
  config_empty: { code: "bad_request", text: "{of, select, item {has an empty item} other {is empty}}" },
  config_entries: { code: "bad_request", text: "has more than {max} entries" },
  config_foreign_value: { code: "bad_request", text: "{reason}" },

  wireguard_key_invalid: {
    code: "bad_request",
    text: "must be a WireGuard key: 44 characters of base64, and not all zero",
  },
  wireguard_key_own: { code: "bad_request", text: "is this end's own public key, not the peer's" },
  wireguard_endpoint_invalid: {
    code: "bad_request",
    text: "must be host:port, or [address]:port for IPv6",
  },
  wireguard_host_invalid: {
    code: "bad_request",
    text: "the host must be an IPv4 address, [an IPv6 address] or a DNS name",
  },
  wireguard_brackets_invalid: {
    code: "bad_request",
    text: "brackets may only contain an IPv6 address without a zone",
  },
  wireguard_address_invalid: {
    code: "bad_request",
    text: "must be addresses that a host can have: no loopback, multicast or broadcast ones",
  },
  wireguard_prefix_invalid: {
    code: "bad_request",
    text: "must be addresses in CIDR form (10.0.0.2/32, fd00::2/128), separated by commas",
  },
  wireguard_dns_invalid: {
    code: "bad_request",
    text: "must be IP addresses and search domains, separated by commas",
  },
  wireguard_number_invalid: {
    code: "bad_request",
    text: "{number} must be a number from {min} to {max}, in plain digits",
  },
  wireguard_mtu_too_small: {
    code: "bad_request",
    text: "the MTU must be at least 1280 if an IPv6 address is configured",
  },

  amnezia_length_missing: {
    code: "bad_request",
    text: "needs {name}, the {end, select, least {least length of these packets} other {greatest length of these packets}}",
  },
  amnezia_range_reversed: { code: "bad_request", text: "must not be less than Jmin" },
  amnezia_sizes_equal: {
    code: "bad_request",
    text: "must not be S1 + 56: both messages of a handshake would be of the same length",
  },
  amnezia_headers_equal: {
    code: "bad_request",
    text: "has a number of {name}: their messages could not be told apart",
  },
  amnezia_number_invalid: { code: "bad_request", text: "must be a number, or a range such as 5-10" },
  amnezia_tags_invalid: { code: "bad_request", text: "must be tags such as {tags}" },
  amnezia_packet_too_long: { code: "bad_request", text: "is a packet of more than {max} bytes" },

  interface_with_peers: { code: "unable", text: "The WireGuard interface has several peers." },
  interface_unclear: {
    code: "unable",
    text: "The WireGuard interface gave an answer that the gateway does not understand.",
  },
});
