import { refusals } from "../base/refusals.ts";

const MAKE_TOKEN = "on the gateway: {command}";

/** What the HTTP interface itself refuses, before a request is looked at by what it is for. */
export const refused = refusals({
  not_found: {
    not_found: "not found: {method} {path}",
    answer_unknown: "/api/{name} has no answer",
  },
  unable: {
    internal_error: "internal error",
    https_down:
      "this page is shown over HTTPS only, which does not work at present; for the reason, on the gateway: sudo portcullis check",
  },
  forbidden: {
    token_missing: `a token is needed, as {header}; to make one, ${MAKE_TOKEN}`,
    token_invalid: `the token is not valid, or was removed; to make one, ${MAKE_TOKEN}`,
    token_read_only: `this token may only read; for changes, to make one, ${MAKE_TOKEN}`,
    owner_needed: "only an owner may do this; to make this browser one, on the gateway: sudo portcullis pair",
    anyone_could:
      "no request needs a token here, so anyone could {danger, select, keys {take the keys} other {make one for later}}; on the gateway: {commands}",
    not_local: "only the local network is served",
    host_foreign: "Host must be this gateway's address or name; further names are set by --name",
    origin_foreign: "Origin is another site's",
    page_foreign: "the request comes from a page of another site (Sec-Fetch-Site)",
    https_only:
      "this is served by HTTPS only: {https, select, off {HTTPS is off here; to turn it on, on the gateway: {command}} down {it does not work at present; for the reason, on the gateway: {command}} other {use {https}}}. Nothing was read here, but what was sent was not encrypted: if others can listen on this network, replace it",
  },
  rate_limited: {
    too_many_requests: "too many requests: see the X-RateLimit headers and Retry-After",
    too_many_answers: "too many answers at once: read earlier ones first",
    too_many_bodies: "too many bodies at once: wait until earlier ones are answered",
    too_many_wrong_tokens: "too many requests with a wrong token: try again in a second",
    too_many_logins: "too many logins: try again in {seconds} seconds",
    too_many_sockets:
      "{of, select, client {this client has too many sockets at /ws: close some first} other {too many sockets are open at /ws: try again later}}",
    provider_busy: "earlier requests still wait for a provider; try again later",
  },
  bad_request: {
    not_a_handshake: "/ws is a WebSocket: connect to it with ws:// (version 13)",
    protocol_missing: "a token in a subprotocol needs a second one beside it: offer {protocol} too",
    path_slash: "the path holds an encoded slash (%2F), which no name has",
    path_not_utf8: "the path is not valid percent-encoded UTF-8",
    body_empty: "body is empty: a JSON object is expected",
    body_type: "Content-Type must be application/json",
    body_incomplete: "body is incomplete",
    body_too_large: "body is too large: at most {max} bytes",
    body_not_utf8: "body is not valid UTF-8",
    body_marked: "body starts with a byte order mark",
    body_not_json: "body is not valid JSON",
    body_too_complex:
      "body {how, select, values {has too many values} depth {is nested too deeply} other {has an object with too many fields}}",
    body_character:
      "body contains {which, select, nul {a NUL character} other {half of a surrogate pair, which is not a character}}",
    body_field_twice: "body has {name} twice",
    credential_foreign: "{provider} asks for {known}",
    // What a schema refuses.
    invalid: "{field} is not valid",
    field_unknown: "unknown field {field}: the known ones are {known}",
    entry_twice: "{field} has an entry twice",
    entry_invalid: "{field} contains a value that is not valid",
    entry_count: "{field} must have {max, select, any {{min} or more} other {{min} to {max}}} entries",
    must_be_integer:
      "{field} must be a whole number{min, select, any {} other {{max, select, any { of at least {min}} other { from {min} to {max}}}}}",
    must_be_one_of: "{field} must be {known}{count, plural, =1 {} other { or {last}}}",
    must_be_like: "{field} must be like {example}{about, select, none {} other { ({about})}}",
    must_be_text: "{field} must be a string",
    must_not_be_empty: "{field} must be a non-empty string",
    must_be_object: "{field} must be a JSON object",
    must_be_list: "{field} must be a list",
    must_be: "{field} must be {reason}",
  },
  "bad_request: name": {
    server_in_use:
      "the {tunnel, select, main {main tunnel} other {tunnel {tunnel}}} uses this server; disconnect first",
  },
});
