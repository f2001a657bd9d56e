import { refusals } from "../base/refusals.ts";

const NAMED =
  "{max} {of, select, prefixes {prefixes already} other {devices already}} have a name or an exit";

export const refused = refusals({
  "not_found: id": { device_unknown: "there is no such device" },
  "not_found: interface": {
    network_unknown: "there is no such network; to list them: portcullis networks",
  },
  "not_found: exit": { exit_unknown: "there is no such tunnel; the exits are {exits}" },
  bad_request: {
    device_invalid:
      "must be a MAC address, such as 02:00:00:00:00:20, or a prefix behind another router of the LAN, such as 10.8.0.0/24",
    prefix_public:
      "a prefix behind another router must be private address space (10.0.0.0/8, 172.16.0.0/12, 192.168.0.0/16, fc00::/7)",
    field_full: "{max} devices have one already, the maximum; remove one first",
    only_single_devices: "is for single devices, not for a network behind another router",
    rate_empty: "down or up is required; null for no limit",
    quota_end_empty: "at_end: down or up is required; told for no limit",
  },
  "bad_request: id": {
    prefix_of_remote: "{prefix} has addresses of devices away from home; to add one: {command}",
    prefix_overlaps: "{prefix} overlaps {overlap}; a prefix is for what is behind another router of the LAN",
    devices_full: `${NAMED}, the maximum; remove one first`,
  },
  "bad_request: exit": {
    direct_as_default:
      "direct cannot be the default exit, because every new device would leave outside the tunnel; give it to single devices",
    direct_as_network_default:
      "direct cannot be the default exit of a network, because every new device there would leave outside the tunnel; give it to single devices",
    direct_for_network: "direct is for single devices, not for what comes by another router or by a mesh",
    direct_among_several:
      "direct cannot be one of several, because a tunnel that fails must never lead a device outside the tunnel",
    exits_too_many: "must be 1 to {max} exits",
    exit_twice: "{exit} is in the list twice",
    blocked_not_last: "blocked must be the last of the list, because nothing after it would ever be taken",
  },
  "bad_request: interface": {
    networks_full: "{max} networks are known already, the maximum; forget one first",
    network_present: "{network} is there now; only a network that is gone can be forgotten",
  },
  "bad_request: page": {
    page_last:
      "no other network of the LAN may use the page, so nobody could change anything from the LAN any more",
  },
  "bad_request: name": {
    exit_of_network: "{tunnel} is the default exit of the network {network}; choose another one for it first",
    exit_in_use: "{tunnel} is the exit of {devices}; choose another exit for them first",
    exit_is_default: "{tunnel} is the default exit; choose another one first: portcullis default-exit main",
  },
  "bad_request: address": {
    dhcp_off: "the gateway does not serve DHCP; to turn that on: {command}",
    address_for_network: "only a single device, given by its MAC address, can have one",
    address_not_ipv4: "must be an IPv4 address",
    address_outside_lan: "{address} is outside the LAN; choose one from {networks}",
    address_at_edge: "{address} is the first or the last of {network}, which no device can have",
    address_taken: "{address} is {taker, select, own {the gateway's own} other {the home router's}}",
    address_of_device: "{device} has {address}; choose another one",
  },
  "forbidden: exit": {
    direct_forbidden:
      "no device may leave directly, outside the tunnel; to allow it, type on the gateway: sudo portcullis direct on",
  },
});
