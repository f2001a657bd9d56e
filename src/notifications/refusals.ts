import { refusals } from "../base/refusals.ts";

export const refused = refusals({
  unable: {
    address_file_unread: "the file cannot be read",
    notifications_starting: "the service is starting; try again in a moment",
    target_refused:
      "it answered {status}{redirects, select, yes { and wants to redirect, which is not followed} other {}}",
  },
  not_found: { address_unknown: "no address with the name {name} was added" },
  bad_request: {
    address_malformed:
      "{fault, select, scheme {it must begin with ntfy://, gotify://, https:// or http://} topic {ntfy needs a topic: ntfy://host/topic} token {gotify needs the token of an application: gotify://host/token} query {only scheme=http or disableTLS=yes may follow the question mark} plain {plain http is for an IP address of the LAN; use https} characters {its token has characters that no token has} encoding {its percent-encoding is wrong} other {it is not a valid address}}",
  },
  "bad_request: address": {
    address_used: "notifications go there already",
    address_of_machine: "it is this machine; only root can choose that, with --notify",
  },
});
