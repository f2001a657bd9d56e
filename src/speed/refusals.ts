import { COMMON } from "../base/common-refusals.ts";
import { refusals } from "../base/refusals.ts";

export const refused = refusals({
  name_unresolved: COMMON.name_unresolved,
  resolver_missing: {
    code: "unable",
    field: "url",
    text: "the tunnel has no resolver; give the server's IP address",
  },
  speed_test_running: { code: "unable", text: "another speed test is under way; wait for its end" },
  speed_test_ended: { code: "interrupted", text: "the tunnel has changed, so the speed test has ended" },
  outside_tunnel: COMMON.outside_tunnel,
  tunnel_down: { code: "unable", field: "tunnel", text: "{name} is not connected; connect it first" },
  url_invalid: {
    code: "bad_request",
    field: "url",
    text: "must be an https address, such as https://speed.example.com/100MB.bin",
  },
  url_with_login: { code: "bad_request", field: "url", text: "must have no name and no password" },
  url_without_host: { code: "bad_request", field: "url", text: "must have the name of a server" },
});
