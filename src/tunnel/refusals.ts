import { COMMON } from "../base/common-refusals.ts";
import { refusals } from "../base/refusals.ts";

const CLOCK =
  'The clock of this machine says {clock}, and the last handshake was at {last}; servers refuse a handshake from the past. If the clock is wrong, set it: sudo date -u -s "YYYY-MM-DD HH:MM". If it is right, it was ahead at that handshake: connect to another server, or replace this gateway\'s key.';
const WITH_CLOCK = `{clock, select, right {} other { ${CLOCK}}}` as const;
const SILENT = "{server} did not answer the WireGuard handshake";

/** What a tunnel refuses, or why it is not connected. */
export const refused = refusals({
  ...COMMON,
  tunnel_unknown: { code: "not_found", text: "there is no tunnel of this name" },
  tunnel_name_invalid: {
    code: "bad_request",
    text: "must have 1 to 32 of the characters a-z, 0-9 and -",
  },
  tunnel_name_reserved: { code: "bad_request", text: "{name} is reserved; choose another name" },
  tunnel_main_stays: { code: "bad_request", field: "name", text: "the main tunnel cannot be removed" },
  tunnel_not_removed: { code: "kernel_refused", text: "the tunnel could not be removed: {reason}" },
  tunnel_links_taken: {
    code: "unable",
    text: "other programs have interfaces with the names of the next tunnels, {base}2 and so on",
  },

  needs_targets: { code: "bad_request", text: "it needs targets" },
  needs_another_target: {
    code: "bad_request",
    field: "move_when",
    text: "it needs another target to move to",
  },
  belongs_to_target: { code: "bad_request", text: "it belongs in each of the targets" },
  key_in_use: {
    code: "bad_request",
    text: "the {tunnel, select, main {main tunnel} other {tunnel {tunnel}}} leads there with the same key; choose another server, or one with a key of its own",
  },
  address_clash: { code: "bad_request", field: "address", text: "{reason}" },
  server_unusable: { code: "unable", text: "{server} cannot be used here: {reason}" },
  ipv6_off: {
    code: "unable",
    text: "{server} has only IPv6 addresses, and IPv6 is turned off on this machine",
  },

  none_works: { code: "unable", text: "none of the {count} works: {reason}" },
  server_silent: {
    code: "no_answer",
    text: `${SILENT} within {seconds} s: is it up, and are the keys right?${WITH_CLOCK}`,
  },
  server_silent_in_all_ways: {
    code: "no_answer",
    text: `${SILENT} {ways}: is it up, are the keys right, and does this network let WireGuard through?${WITH_CLOCK}`,
  },
  servers_silent: {
    code: "no_answer",
    text: `none of the {count} servers tried in {place} answered the WireGuard handshake{clock, select, right {} other {. ${CLOCK}}}`,
  },
  answer_foreign: {
    code: "no_answer",
    text: `${SILENT}: something else answers in its place at TCP port {port}. If this network has a login page, log in there first`,
  },
  quantum_silent: { code: "no_answer", text: `${SILENT} with the new keys` },
  quantum_failed: {
    code: "no_answer",
    text: "{server} agreed on no keys that are safe from quantum computers: {reason}",
  },
  answer_unclear: { code: "unable", text: "{address}:{port} gave an answer that is not understood" },
  uplink_missing: {
    code: "unable",
    text: "there is no default route: is the uplink's cable plugged in? If the uplink needs no default route, name it with --uplink",
  },
  system_resolver_missing: {
    code: "unable",
    text: "the system has no DNS resolver to look up the server's name: give the endpoint as an address",
  },
  config_refused: { code: "kernel_refused", text: "WireGuard refused the configuration of {link}" },

  interrupted_by_connect: { code: "interrupted", text: "interrupted by a connect to {server}" },
  interrupted_by_disconnect: { code: "interrupted", text: "interrupted by a disconnect" },
  interrupted_by_stop: { code: "interrupted", text: "the service stops" },
  interrupted_by_removal: { code: "interrupted", text: "the tunnel is being removed" },
  interrupted_by_network: { code: "interrupted", text: "interrupted by a change of the network" },

  not_on_lan: { code: "unable", text: "{host} is not on the LAN now" },
  tunnel_missing: { code: "unable", text: "there is no tunnel to send this through; connect first" },
});
