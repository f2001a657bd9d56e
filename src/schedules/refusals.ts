import { refusals } from "../base/refusals.ts";

export const refused = refusals({
  "not_found: name": { schedule_unknown: "there is no schedule of this name" },
  bad_request: {
    time_invalid: "must be a time of 24 hours, such as 21:00 or 07:30",
    one_of_required: "either {fields} is required",
    one_of_required_for_device: "either exit, rate or quota is required for a device",
    time_required: "either at, with days if you like, or every_hours is required",
    times_required: "at and until are required for {of, select, device {a device} other {{of}}}",
    not_for_tunnel: "exit, rate, quota and until are not for a tunnel",
    only_for_tunnel: "every_hours is for a tunnel",
    only_for_device: "exit, rate and quota are for a device",
  },
  "bad_request: time_zone": {
    zone_unknown:
      "there is no time zone of this name; take one such as Europe/Berlin, or null for that of the gateway's clock",
  },
  "bad_request: until": { times_equal: "must differ from at" },
  "bad_request: once": {
    once_malformed:
      "takes either minutes or until, for a device or all others, and no at, until, every_hours and days beside it",
  },
  "bad_request: exit": {
    direct_scheduled: "direct cannot be scheduled, because it leads outside the tunnel; set it by hand",
    exit_unschedulable: "must be the name of a tunnel, or blocked",
  },
  unable: { nowhere_else: "there is no other server in {place}" },
});
