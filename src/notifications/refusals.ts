import { COMMON } from "../base/common-refusals.ts";
import { refusals } from "../base/refusals.ts";

export const refused = refusals({
  limit_reached: COMMON.limit_reached,
  name_secret: COMMON.name_secret,
  name_exists: COMMON.name_exists,
  notifications_starting: { code: "unable", text: "the service is starting; try again in a moment" },
  address_unknown: { code: "not_found", text: "no address with the name {name} was added" },
  address_used: { code: "bad_request", field: "address", text: "notifications go there already" },
  address_of_machine: {
    code: "bad_request",
    field: "address",
    text: "it is this machine; only root can choose that, with --notify",
  },
  address_malformed: {
    code: "bad_request",
    text: "{fault, select, scheme {it must begin with ntfy://, gotify://, https:// or http://} topic {ntfy needs a topic: ntfy://host/topic} token {gotify needs the token of an application: gotify://host/token} query {only scheme=http or disableTLS=yes may follow the question mark} plain {plain http is for an IP address of the LAN; use https} characters {its token has characters that no token has} encoding {its percent-encoding is wrong} other {it is not a valid address}}",
  },
  target_refused: {
    code: "unable",
    text: "it answered {status}{redirects, select, yes { and wants to redirect, which is not followed} other {}}",
  },
});
