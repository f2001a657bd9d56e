import { refusals } from "../base/refusals.ts";

export const refused = refusals({
  broker_unreached: { code: "unable", text: "{reason}" },
  broker_name_unresolved: {
    code: "unable",
    text: "the name {name} does not resolve; without a tunnel, give the address",
  },
  broker_nowhere: {
    code: "unable",
    text: "{host} is not on the LAN, and there is no tunnel to reach it through",
  },
  file_unreadable: { code: "unable", text: "the file {file} ({flag}) cannot be read" },
  command_unknown: { code: "not_found", text: "there is no such command" },
  payload_invalid: { code: "bad_request", text: "the payload must be ON or OFF" },
  payload_too_long: { code: "bad_request", text: "the payload is too long" },
  never_connected: {
    code: "bad_request",
    text: "the tunnel has never been connected: choose a server first",
  },
});
