import { COMMON } from "../base/common-refusals.ts";
import { refusals } from "../base/refusals.ts";

const NAMED =
  "{max} {of, select, prefixes {prefixes already} other {devices already}} have a name or an exit";

export const refused = refusals({
  required: COMMON.required,
  device_unknown: { code: "not_found", field: "id", text: "there is no such device" },
  device_invalid: {
    code: "bad_request",
    text: "must be a MAC address, such as 02:00:00:00:00:20, or a prefix behind another router of the LAN, such as 10.8.0.0/24",
  },
  prefix_public: {
    code: "bad_request",
    text: "a prefix behind another router must be private address space (10.0.0.0/8, 172.16.0.0/12, 192.168.0.0/16, fc00::/7)",
  },
  prefix_with_host_bits: COMMON.prefix_with_host_bits,
  prefix_of_remote: {
    code: "bad_request",
    field: "id",
    text: "{prefix} has addresses of devices away from home; to add one: {command}",
  },
  prefix_overlaps: {
    code: "bad_request",
    field: "id",
    text: "{prefix} overlaps {overlap}; a prefix is for what is behind another router of the LAN",
  },
  devices_full: { code: "bad_request", field: "id", text: `${NAMED}, the maximum; remove one first` },
  field_full: { code: "bad_request", text: "{max} devices have one already, the maximum; remove one first" },
  only_single_devices: {
    code: "bad_request",
    text: "is for single devices, not for a network behind another router",
  },

  direct_forbidden: {
    code: "forbidden",
    field: "exit",
    text: "no device may leave directly, outside the tunnel; to allow it, type on the gateway: sudo portcullis direct on",
  },
  direct_as_default: {
    code: "bad_request",
    field: "exit",
    text: "direct cannot be the default exit, because every new device would leave outside the tunnel; give it to single devices",
  },
  direct_for_network: {
    code: "bad_request",
    field: "exit",
    text: "direct is for single devices, not for a network behind another router",
  },
  direct_among_several: {
    code: "bad_request",
    field: "exit",
    text: "direct cannot be one of several, because a tunnel that fails must never lead a device outside the tunnel",
  },
  exit_unknown: {
    code: "not_found",
    field: "exit",
    text: "there is no such tunnel; the exits are {exits}",
  },
  exits_too_many: { code: "bad_request", field: "exit", text: "must be 1 to {max} exits" },
  exit_twice: { code: "bad_request", field: "exit", text: "{exit} is in the list twice" },
  blocked_not_last: {
    code: "bad_request",
    field: "exit",
    text: "blocked must be the last of the list, because nothing after it would ever be taken",
  },
  exit_in_use: {
    code: "bad_request",
    field: "name",
    text: "{tunnel} is the exit of {devices}; choose another exit for them first",
  },
  exit_is_default: {
    code: "bad_request",
    field: "name",
    text: "{tunnel} is the default exit; choose another one first: portcullis default-exit main",
  },

  dhcp_off: {
    code: "bad_request",
    field: "address",
    text: "the gateway does not serve DHCP; to turn that on: {command}",
  },
  address_for_network: {
    code: "bad_request",
    field: "address",
    text: "only a single device, given by its MAC address, can have one",
  },
  address_not_ipv4: { code: "bad_request", field: "address", text: "must be an IPv4 address" },
  address_outside_lan: {
    code: "bad_request",
    field: "address",
    text: "{address} is outside the LAN; choose one from {networks}",
  },
  address_at_edge: {
    code: "bad_request",
    field: "address",
    text: "{address} is the first or the last of {network}, which no device can have",
  },
  address_taken: {
    code: "bad_request",
    field: "address",
    text: "{address} is {taker, select, own {the gateway's own} other {the home router's}}",
  },
  address_of_device: {
    code: "bad_request",
    field: "address",
    text: "{device} has {address}; choose another one",
  },

  rate_empty: { code: "bad_request", text: "down or up is required; null for no limit" },
  quota_end_empty: { code: "bad_request", text: "at_end: down or up is required; told for no limit" },
});
