import { refusals } from "../base/refusals.ts";

export const refused = refusals({
  unable: {
    broker_unreached: "{reason}",
    broker_name_unresolved: "the name {name} does not resolve; without a tunnel, give the address",
    broker_nowhere: "{host} is not on the LAN, and there is no tunnel to reach it through",
    file_unreadable: "the file {file} ({flag}) cannot be read",
  },
  not_found: { command_unknown: "there is no such command" },
  bad_request: {
    payload_invalid: "the payload must be ON or OFF",
    payload_too_long: "the payload is too long",
    never_connected: "the tunnel has never been connected: choose a server first",
  },
});
