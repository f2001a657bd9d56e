import { refusals } from "../base/refusals.ts";

/** What a configuration lacks. Its field is where that is: "line 7: Endpoint", or "endpoint" in a form. */
export const refused = refusals({
  bad_request: {
    config_missing: "{field} is missing",
    config_with_peers: "there are several peers; the gateway uses exactly one",
    config_too_long: "is longer than {max} characters",
    config_character:
      "contains {which, select, nul {a NUL character} other {a carriage return that does not end a line}}",
    config_line_invalid: "is neither a [Section] nor a key = value",
    config_before_section: "comes before any [Section]",
    config_section_unknown: "unknown section",
    config_section_wrong: "belongs in [{section}], not in [{other}]",
    config_key_unknown: "unknown key in [{section}]",
    config_unsupported: "{reason}",
    config_command: "the gateway does not run commands from a configuration; nothing was imported",
    config_empty: "{of, select, item {has an empty item} other {is empty}}",
    config_entries: "has more than {max} entries",
    config_foreign_value: "{reason}",
    wireguard_key_invalid: "must be a WireGuard key: 44 characters of base64, and not all zero",
    wireguard_key_own: "is this end's own public key, not the peer's",
    wireguard_endpoint_invalid: "must be host:port, or [address]:port for IPv6",
    wireguard_host_invalid: "the host must be an IPv4 address, [an IPv6 address] or a DNS name",
    wireguard_brackets_invalid: "brackets may only contain an IPv6 address without a zone",
    wireguard_address_invalid:
      "must be addresses that a host can have: no loopback, multicast or broadcast ones",
    wireguard_prefix_invalid:
      "must be addresses in CIDR form (10.0.0.2/32, fd00::2/128), separated by commas",
    wireguard_dns_invalid: "must be IP addresses and search domains, separated by commas",
    wireguard_number_invalid: "{number} must be a number from {min} to {max}, in plain digits",
    wireguard_mtu_too_small: "the MTU must be at least 1280 if an IPv6 address is configured",
    amnezia_length_missing:
      "needs {name}, the {end, select, least {least length of these packets} other {greatest length of these packets}}",
    amnezia_range_reversed: "must not be less than Jmin",
    amnezia_sizes_equal: "must not be S1 + 56: both messages of a handshake would be of the same length",
    amnezia_headers_equal: "has a number of {name}: their messages could not be told apart",
    amnezia_number_invalid: "must be a number, or a range such as 5-10",
    amnezia_tags_invalid: "must be tags such as {tags}",
    amnezia_packet_too_long: "is a packet of more than {max} bytes",
  },
  "bad_request: config": {
    config_of_kind: "{reason}",
    config_without_peer: "has no [Peer]",
  },
  unable: {
    interface_with_peers: "The WireGuard interface has several peers.",
    interface_unclear: "The WireGuard interface gave an answer that the gateway does not understand.",
  },
});
