import { refusals } from "../base/refusals.ts";

export const refused = refusals({
  unable: { speed_test_running: "another speed test is under way; wait for its end" },
  "unable: url": { resolver_missing: "the tunnel has no resolver; give the server's IP address" },
  "unable: tunnel": { tunnel_down: "{name} is not connected; connect it first" },
  interrupted: { speed_test_ended: "the tunnel has changed, so the speed test has ended" },
  "bad_request: url": {
    url_invalid: "must be an https address, such as https://speed.example.com/100MB.bin",
    url_with_login: "must have no name and no password",
    url_without_host: "must have the name of a server",
  },
});
