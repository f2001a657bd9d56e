import { refusals } from "../base/refusals.ts";

const ENDPOINT_MISSING =
  "the gateway does not know the address that devices call; give it, on the gateway: sudo portcullis remote on --endpoint home.example.org, and let your router forward {known, select, yes {UDP port {port} to {to}, port {to_port}} other {the UDP port to the gateway}}";

export const refused = refusals({
  unable: {
    remote_off: "remote access is off; to turn it on, type on the gateway: sudo portcullis remote on",
    remote_networks_taken: "no network of 10.0.0.0/8 is free for devices away from home",
    remote_unprotected: "the kill switch is off, and without it no device comes in",
    remote_closed:
      "something else here has the addresses of remote devices, such as a new network of the LAN or a tunnel",
    remote_tunnel_down: "the {tunnel, select, main {main tunnel} other {tunnel {tunnel}}} is not connected",
    uplink_down: "the uplink is down",
    home_router_missing: "there is no home router to ask",
    home_router_hides_address: "the home router does not tell the address that it has on the internet",
    address_unreachable:
      "the address {address} cannot be reached from the internet: it is behind another router or behind carrier-grade NAT",
    ipv6_may_be_blocked: "the home router may block it: it opens no port for IPv6 by PCP",
    endpoint_unknown: ENDPOINT_MISSING,
    endpoint_unopened: `${ENDPOINT_MISSING}. No port is open by itself: {reason}`,
    link_circle:
      "what it sends to the internet from here is refused: its exit, {tunnel}, leads to a home, and packets could go in a circle; give it another exit",
    link_closed:
      "something else here has addresses of its network, such as a new network of the LAN, or the kill switch is off",
    link_without_exit:
      "the other home cannot leave here: its answer has not come yet, or this gateway knew no endpoint when the two were linked; to give it one, type on the gateway: sudo portcullis remote on --endpoint home.example.org, and link the two again",
    link_uncallable:
      "neither home knows an address at which the other can call it; on one of them, type: sudo portcullis remote on --endpoint home.example.org",
    link_networks_many:
      "a code tells {max} networks, and this home has {count}: {prefix} would be left out. Two homes that are linked tell each other those that may use the page; to close one, such as: portcullis network guests page off",
    own_key_lost: "the gateway's own key for remote access is lost: turn it on again",
    port_forwarded:
      "port {port} of the {tunnel, select, main {main tunnel} other {tunnel {tunnel}}} leads to a device; remove that forward first, or give another: --port",
  },
  "unable: through": {
    provider_opens_none:
      "the provider of the {tunnel, select, main {main tunnel} other {tunnel {tunnel}}} opens no port: {reason}. If it forwards one that you have set on its site, give its number: --port",
  },
  "not_found: device": {
    link_device_unknown: "no device of the LAN has this id",
    link_device_unreached: "the other home does not reach it",
  },
  "not_found: name": {
    link_unknown: "no link has this name; to list them: portcullis link",
    remote_unknown: "no device away from home has this name",
  },
  "bad_request: name": {
    remote_name_taken: "another device away from home has this name",
    remote_ids_taken:
      "schedules, rules or lists of names still name former devices with all addresses; remove some first",
  },
  "bad_request: code": {
    link_overlaps:
      "{prefix} of the other home is also here: {owner}. Two linked homes need different networks: give one of them another, such as 192.168.77.0/24, and link them again",
    link_too_wide:
      "{prefix} of the other home is too large for a home: give its LAN a network of /{least} or smaller, such as 192.168.77.0/24, and link them again",
    link_code_invalid: "is not whole; it begins with home1_, and is one line",
    link_known: "is from this gateway, or from a home that is linked already: remove that link first",
    link_unasked: "answers no link that waits here; begin again, such as: portcullis link add parents",
    link_named: "answers the link {name}, which has its name already",
  },
  "bad_request: public_key": {
    key_invalid: "must be a WireGuard key: 44 characters of base64",
    key_taken: "is in use already; each device needs a key of its own",
  },
  "bad_request: endpoint": {
    endpoint_invalid: "must be a name or an address, with a port if it is another: home.example.org:51820",
  },
  kernel_refused: {
    link_silent:
      "the interface {link} does not answer: the machine is too busy, or another program has made it",
  },
});
