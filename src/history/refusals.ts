import { refusals } from "../base/refusals.ts";

export const refused = refusals({
  history_of_both: { code: "bad_request", field: "device", text: "give a tunnel or a device, not both" },
  history_of_uplink: {
    code: "bad_request",
    field: "uplink",
    text: "goes with neither a tunnel nor a device; give one of the three",
  },
  range_reversed: { code: "bad_request", field: "from", text: "must be before the end of the range" },
  time_unknown: { code: "bad_request", text: "there is no such time" },
});
