import { COMMON } from "../base/common-refusals.ts";
import { refusals } from "../base/refusals.ts";

export const refused = refusals({
  required: COMMON.required,
  limit_reached: COMMON.limit_reached,
  port_invalid: COMMON.port_invalid,
  remote_off: {
    code: "unable",
    text: "remote access is off; to turn it on, type on the gateway: sudo portcullis remote on",
  },
  remote_unknown: { code: "not_found", field: "name", text: "no device away from home has this name" },
  remote_name_taken: {
    code: "bad_request",
    field: "name",
    text: "another device away from home has this name",
  },
  remote_ids_taken: {
    code: "bad_request",
    field: "name",
    text: "schedules, rules or lists of names still name former devices with all addresses; remove some first",
  },
  remote_networks_taken: {
    code: "unable",
    text: "no network of 10.0.0.0/8 is free for devices away from home",
  },
  key_invalid: {
    code: "bad_request",
    field: "public_key",
    text: "must be a WireGuard key: 44 characters of base64",
  },
  key_taken: {
    code: "bad_request",
    field: "public_key",
    text: "is in use already; each device needs a key of its own",
  },
  endpoint_invalid: {
    code: "bad_request",
    field: "endpoint",
    text: "must be a name or an address, with a port if it is another: home.example.org:51820",
  },
  endpoint_missing: { code: "unable", text: "{reason}" },
  own_key_lost: {
    code: "unable",
    text: "the gateway's own key for remote access is lost: turn it on again",
  },
  provider_opens_none: {
    code: "unable",
    field: "through",
    text: "the provider of the {tunnel, select, main {main tunnel} other {tunnel {tunnel}}} opens no port: {reason}. If it forwards one that you have set on its site, give its number: --port",
  },
  port_forwarded: {
    code: "unable",
    text: "port {port} of the {tunnel, select, main {main tunnel} other {tunnel {tunnel}}} leads to a device; remove that forward first, or give another: --port",
  },
  link_silent: {
    code: "kernel_refused",
    text: "the interface {link} does not answer: the machine is too busy, or another program has made it",
  },
});
