import { COMMON } from "../base/common-refusals.ts";
import { refusals } from "../base/refusals.ts";

const OF_KIND =
  "{of, select, managed {the VPN account's servers} custom {your own servers} other {the imported servers}}";

export const refused = refusals({
  limit_reached: COMMON.limit_reached,
  server_unknown: {
    code: "not_found",
    text: `there is {kind, select, place {no server, country or city} other {no server}} of this name among ${OF_KIND}{meant, select, none {} other {; did you mean {meant}?}}`,
  },
  city_ambiguous: {
    code: "bad_request",
    text: 'there is a {city} in {country} and in {other}: give the country too, as in "{city}, {country}"',
  },
  server_name_taken: {
    code: "bad_request",
    field: "name",
    text: "is taken; remove that server first or choose another name",
  },
  servers_full: {
    code: "bad_request",
    field: "name",
    text: `there are {max} among ${OF_KIND}, the maximum; remove some first`,
  },
  servers_too_large: {
    code: "bad_request",
    field: "name",
    text: "there is no room for it: your own servers and the imported ones may take {max} bytes together; remove some first",
  },
  location_invalid: {
    code: "bad_request",
    field: "location",
    text: "must be at most {max} characters without control characters",
  },
  account_missing: {
    code: "bad_request",
    field: "server",
    text: "this server needs a VPN account; {reason}",
  },
  server_of_other_provider: {
    code: "bad_request",
    field: "server",
    text: "it is on another provider's list than that of your account; to use your account: {command}, such as portcullis use mullvad",
  },

  entry_is_exit: {
    code: "bad_request",
    field: "via",
    text: "{server} cannot be entry and exit at once; choose another entry",
  },
  entry_of_other_provider: {
    code: "bad_request",
    field: "via",
    text: "{entry} is a server of {provider} and {server} one of {other}; choose an entry of the same provider",
  },
  entry_registers: {
    code: "bad_request",
    field: "via",
    text: "{server} cannot be the entry, because the gateway registers with it for each connection; choose another entry",
  },
  exit_registers: {
    code: "bad_request",
    field: "server",
    text: "{server} cannot be reached through another server, because the gateway registers with it for each connection; leave out via",
  },
  exit_without_port: {
    code: "bad_request",
    field: "server",
    text: "{server} cannot be reached through another server, because its list has no multi-hop port for it; leave out via or choose another server",
  },
  place_without_exit: {
    code: "bad_request",
    field: "server",
    text: "no server in {place} can be reached through another server; leave out via or choose another place",
  },
  place_without_entry: {
    code: "bad_request",
    field: "via",
    text: "no server in {place} can be the entry for {server}; choose another place",
  },
  quantum_unsupported: {
    code: "bad_request",
    field: "quantum",
    text: "{server} agrees on no keys that are safe from quantum computers; only Mullvad's servers do. Choose one of them, or off",
  },
  transport_with_via: {
    code: "bad_request",
    field: "transport",
    text: "two hops are reached by plain WireGuard only; leave out via, or the transport",
  },
  transport_unsupported: {
    code: "bad_request",
    field: "transport",
    text: "{of, select, place {no server in {server} offers {transport}; choose another place, or auto} other {{server} does not offer {transport}; choose another server, or auto}}",
  },

  list_unknown: { code: "bad_request", text: "the server list has none of the known formats" },
  list_not_json: { code: "bad_request", text: "the server list is not JSON" },
  list_too_large: { code: "unable", text: "the server list is larger than {max} MiB" },
  list_too_long: {
    code: "unable",
    text: "the server list {of, select, values {contains more than {max} values} other {({of}) has more than {max} servers}}",
  },
  list_without_servers: { code: "unable", text: "the server list ({format}) has no usable WireGuard server" },
  list_missing: { code: "unable", text: "there is no list to update: set --managed-list" },
  list_unreadable: { code: "unable", text: "{file} is missing or cannot be read" },
  list_not_answered: {
    code: "unable",
    text: "{host} answered with status {status} and no list{moved, select, yes {; the list may have moved: set --managed-list} other {}}",
  },
  list_overtaken: {
    code: "unable",
    text: "the account was changed during the update; update the list again",
  },
});
