import { COMMON } from "../base/common-refusals.ts";
import { refusals } from "../base/refusals.ts";

const MAKE_TOKEN = "on the gateway: {command}";

/** What the HTTP interface itself refuses, before a request is looked at by what it is for. */
export const refused = refusals({
  required: COMMON.required,
  not_found: { code: "not_found", text: "not found: {method} {path}" },
  internal_error: { code: "unable", text: "internal error" },
  answer_unknown: { code: "not_found", text: "/api/{name} has no answer" },

  token_missing: {
    code: "forbidden",
    text: `a token is needed, as {header}; to make one, ${MAKE_TOKEN}`,
  },
  token_invalid: {
    code: "forbidden",
    text: `the token is not valid, or was removed; to make one, ${MAKE_TOKEN}`,
  },
  token_read_only: {
    code: "forbidden",
    text: `this token may only read; for changes, to make one, ${MAKE_TOKEN}`,
  },
  anyone_could: {
    code: "forbidden",
    text: "no request needs a token here, so anyone could {danger, select, keys {take the keys} other {make one for later}}; on the gateway: {commands}",
  },
  not_local: { code: "forbidden", text: "only the local network is served" },
  host_foreign: {
    code: "forbidden",
    text: "Host must be this gateway's address or name; further names are set by --name",
  },
  origin_foreign: { code: "forbidden", text: "Origin is another site's" },
  page_foreign: {
    code: "forbidden",
    text: "the request comes from a page of another site (Sec-Fetch-Site)",
  },
  https_only: {
    code: "forbidden",
    text: "this is served by HTTPS only: {https, select, off {HTTPS is off here; to turn it on, on the gateway: {command}} down {it does not work at present; for the reason, on the gateway: {command}} other {use {https}}}. Nothing was read here, but what was sent was not encrypted: if others can listen on this network, replace it",
  },
  https_down: {
    code: "unable",
    text: "this page is shown over HTTPS only, which does not work at present; for the reason, on the gateway: sudo portcullis check",
  },

  too_many_requests: {
    code: "rate_limited",
    text: "too many requests: see the X-RateLimit headers and Retry-After",
  },
  too_many_answers: { code: "rate_limited", text: "too many answers at once: read earlier ones first" },
  too_many_bodies: {
    code: "rate_limited",
    text: "too many bodies at once: wait until earlier ones are answered",
  },
  too_many_wrong_tokens: {
    code: "rate_limited",
    text: "too many requests with a wrong token: try again in a second",
  },
  too_many_logins: { code: "rate_limited", text: "too many logins: try again in {seconds} seconds" },
  too_many_sockets: {
    code: "rate_limited",
    text: "{of, select, client {this client has too many sockets at /ws: close some first} other {too many sockets are open at /ws: try again later}}",
  },
  provider_busy: {
    code: "rate_limited",
    text: "earlier requests still wait for a provider; try again later",
  },
  not_a_handshake: {
    code: "bad_request",
    text: "/ws is a WebSocket: connect to it with ws:// (version 13)",
  },
  protocol_missing: {
    code: "bad_request",
    text: "a token in a subprotocol needs a second one beside it: offer {protocol} too",
  },

  path_slash: {
    code: "bad_request",
    text: "the path holds an encoded slash (%2F), which no name has",
  },
  path_not_utf8: { code: "bad_request", text: "the path is not valid percent-encoded UTF-8" },
  body_empty: { code: "bad_request", text: "body is empty: a JSON object is expected" },
  body_type: { code: "bad_request", text: "Content-Type must be application/json" },
  body_incomplete: { code: "bad_request", text: "body is incomplete" },
  body_too_large: { code: "bad_request", text: "body is too large: at most {max} bytes" },
  body_not_utf8: { code: "bad_request", text: "body is not valid UTF-8" },
  body_marked: { code: "bad_request", text: "body starts with a byte order mark" },
  body_not_json: { code: "bad_request", text: "body is not valid JSON" },
  body_too_complex: {
    code: "bad_request",
    text: "body {how, select, values {has too many values} depth {is nested too deeply} other {has an object with too many fields}}",
  },
  body_character: {
    code: "bad_request",
    text: "body contains {which, select, nul {a NUL character} other {half of a surrogate pair, which is not a character}}",
  },
  body_field_twice: { code: "bad_request", text: "body has {name} twice" },

  credential_foreign: { code: "bad_request", text: "{provider} asks for {known}" },
  server_in_use: {
    code: "bad_request",
    field: "name",
    text: "the {tunnel, select, main {main tunnel} other {tunnel {tunnel}}} uses this server; disconnect first",
  },

  // What a schema refuses.
  invalid: { code: "bad_request", text: "{field} is not valid" },
  field_unknown: { code: "bad_request", text: "unknown field {field}: the known ones are {known}" },
  entry_twice: { code: "bad_request", text: "{field} has an entry twice" },
  entry_invalid: { code: "bad_request", text: "{field} contains a value that is not valid" },
  entry_count: {
    code: "bad_request",
    text: "{field} must have {max, select, any {{min} or more} other {{min} to {max}}} entries",
  },
  must_be_integer: {
    code: "bad_request",
    text: "{field} must be a whole number{min, select, any {} other {{max, select, any { of at least {min}} other { from {min} to {max}}}}}",
  },
  must_be_one_of: { code: "bad_request", text: "{field} must be {known}" },
  must_be_like: {
    code: "bad_request",
    text: "{field} must be like {example}{about, select, none {} other { ({about})}}",
  },
  must_be_text: { code: "bad_request", text: "{field} must be a string" },
  must_not_be_empty: { code: "bad_request", text: "{field} must be a non-empty string" },
  must_be_object: { code: "bad_request", text: "{field} must be a JSON object" },
  must_be_list: { code: "bad_request", text: "{field} must be a list" },
  must_be: { code: "bad_request", text: "{field} must be {reason}" },
});
