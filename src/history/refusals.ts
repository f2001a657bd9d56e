import { refusals } from "../base/refusals.ts";

export const refused = refusals({
  bad_request: { time_unknown: "there is no such time" },
  "bad_request: device": { history_of_both: "give a tunnel or a device, not both" },
  "bad_request: uplink": {
    history_of_uplink: "goes with neither a tunnel nor a device; give one of the three",
  },
  "bad_request: from": { range_reversed: "must be before the end of the range" },
});
