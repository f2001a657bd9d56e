import { refusals } from "../base/refusals.ts";

const OF_KIND =
  "{of, select, managed {the VPN account's servers} custom {your own servers} other {the imported servers}}";

export const refused = refusals({
  not_found: {
    server_unknown: `there is {kind, select, place {no server, country or city} other {no server}} of this name among ${OF_KIND}{meant, select, none {} other {; did you mean {meant}?}}`,
  },
  bad_request: {
    city_ambiguous:
      'there is a {city} in {country} and in {other}: give the country too, as in "{city}, {country}"',
    list_unknown: "the server list has none of the known formats",
    list_not_json: "the server list is not JSON",
  },
  "bad_request: name": {
    server_name_taken: "is taken; remove that server first or choose another name",
    servers_full: `there are {max} among ${OF_KIND}, the maximum; remove some first`,
    servers_too_large:
      "there is no room for it: your own servers and the imported ones may take {max} bytes together; remove some first",
  },
  "bad_request: location": {
    location_invalid: "must be at most {max} characters without control characters",
  },
  "bad_request: server": {
    account_missing: "this server needs a VPN account; {reason}",
    server_of_other_provider:
      "it is on another provider's list than that of your account; to use your account: {command}, such as portcullis use mullvad",
    exit_registers:
      "{server} cannot be reached through another server, because the gateway registers with it for each connection; leave out via",
    exit_without_port:
      "{server} cannot be reached through another server, because its list has no multi-hop port for it; leave out via or choose another server",
    place_without_exit:
      "no server in {place} can be reached through another server; leave out via or choose another place",
  },
  "bad_request: via": {
    entry_is_exit: "{server} cannot be entry and exit at once; choose another entry",
    entry_of_other_provider:
      "{entry} is a server of {provider} and {server} one of {other}; choose an entry of the same provider",
    entry_registers:
      "{server} cannot be the entry, because the gateway registers with it for each connection; choose another entry",
    place_without_entry: "no server in {place} can be the entry for {server}; choose another place",
  },
  "bad_request: quantum": {
    quantum_unsupported:
      "{server} agrees on no keys that are safe from quantum computers; only Mullvad's servers do. Choose one of them, or off",
  },
  "bad_request: transport": {
    transport_with_via: "two hops are reached by plain WireGuard only; leave out via, or the transport",
    transport_unsupported:
      "{of, select, place {no server in {server} offers {transport}; choose another place, or auto} other {{server} does not offer {transport}; choose another server, or auto}}",
  },
  unable: {
    list_too_large: "the server list is larger than {max} MiB",
    list_too_long:
      "the server list {of, select, values {contains more than {max} values} other {({of}) has more than {max} servers}}",
    list_without_servers: "the server list ({format}) has no usable WireGuard server",
    list_missing: "there is no list to update: set --managed-list",
    list_unreadable: "{file} is missing or cannot be read",
    list_not_answered:
      "{host} answered with status {status} and no list{moved, select, yes {; the list may have moved: set --managed-list} other {}}",
    list_overtaken: "the account was changed during the update; update the list again",
  },
});
