import { refusals } from "../base/refusals.ts";

const CLOCK =
  'The clock of this machine says {clock}, and the last handshake was at {last}; servers refuse a handshake from the past. If the clock is wrong, set it: sudo date -u -s "YYYY-MM-DD HH:MM". If it is right, it was ahead at that handshake: connect to another server, or replace this gateway\'s key.';
const WITH_CLOCK = `{clock, select, right {} other { ${CLOCK}}}` as const;
const SILENT = "{server} did not answer the WireGuard handshake";

/** What a tunnel refuses, or why it is not connected. */
export const refused = refusals({
  not_found: { tunnel_unknown: "there is no tunnel of this name" },
  bad_request: {
    tunnel_name_invalid: "must have 1 to 32 of the characters a-z, 0-9 and -",
    tunnel_name_reserved: "{name} is reserved; choose another name",
    needs_targets: "it needs targets",
    belongs_to_target: "it belongs in each of the targets",
    key_in_use:
      "the {tunnel, select, main {main tunnel} other {tunnel {tunnel}}} leads there with the same key; choose another server, or one with a key of its own",
  },
  "bad_request: name": { tunnel_main_stays: "the main tunnel cannot be removed" },
  "bad_request: move_when": { needs_another_target: "it needs another target to move to" },
  "bad_request: address": { address_clash: "{reason}" },
  kernel_refused: {
    tunnel_not_removed: "the tunnel could not be removed: {reason}",
    config_refused: "WireGuard refused the configuration of {link}",
  },
  unable: {
    tunnel_links_taken:
      "other programs have interfaces with the names of the next tunnels, {base}2 and so on",
    server_unusable: "{server} cannot be used here: {reason}",
    ipv6_off: "{server} has only IPv6 addresses, and IPv6 is turned off on this machine",
    none_works: "none of the {count} works: {reason}",
    answer_unclear: "{address}:{port} gave an answer that is not understood",
    uplink_missing:
      "there is no default route: is the uplink's cable plugged in? If the uplink needs no default route, name it with --uplink",
    system_resolver_missing:
      "the system has no DNS resolver to look up the server's name: give the endpoint as an address",
    not_on_lan: "{host} is not on the LAN now",
    tunnel_missing: "there is no tunnel to send this through; connect first",
  },
  no_answer: {
    server_silent: `${SILENT} within {seconds} s: is it up, and are the keys right?${WITH_CLOCK}`,
    server_silent_in_all_ways: `${SILENT} {ways}: is it up, are the keys right, and does this network let WireGuard through?${WITH_CLOCK}`,
    servers_silent: `none of the {count} servers tried in {place} answered the WireGuard handshake{clock, select, right {} other {. ${CLOCK}}}`,
    answer_foreign: `${SILENT}: something else answers in its place at TCP port {port}. If this network has a login page, log in there first`,
    quantum_silent: `${SILENT} with the new keys`,
    quantum_failed: "{server} agreed on no keys that are safe from quantum computers: {reason}",
  },
  interrupted: {
    interrupted_by_connect: "interrupted by a connect to {server}",
    interrupted_by_disconnect: "interrupted by a disconnect",
    interrupted_by_stop: "the service stops",
    interrupted_by_removal: "the tunnel is being removed",
    interrupted_by_network: "interrupted by a change of the network",
  },
});
