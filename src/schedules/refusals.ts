import { COMMON } from "../base/common-refusals.ts";
import { refusals } from "../base/refusals.ts";

export const refused = refusals({
  limit_reached: COMMON.limit_reached,
  schedule_unknown: { code: "not_found", field: "name", text: "there is no schedule of this name" },
  time_invalid: { code: "bad_request", text: "must be a time of 24 hours, such as 21:00 or 07:30" },
  zone_unknown: {
    code: "bad_request",
    field: "time_zone",
    text: "there is no time zone of this name; take one such as Europe/Berlin, or null for that of the gateway's clock",
  },
  one_of_required: { code: "bad_request", text: "either {fields} is required" },
  one_of_required_for_device: {
    code: "bad_request",
    text: "either exit, rate or quota is required for a device",
  },
  time_required: {
    code: "bad_request",
    text: "either at, with days if you like, or every_hours is required",
  },
  times_required: {
    code: "bad_request",
    text: "at and until are required for {of, select, device {a device} other {{of}}}",
  },
  times_equal: { code: "bad_request", field: "until", text: "must differ from at" },
  not_for_tunnel: { code: "bad_request", text: "exit, rate, quota and until are not for a tunnel" },
  only_for_tunnel: { code: "bad_request", text: "every_hours is for a tunnel" },
  only_for_device: { code: "bad_request", text: "exit, rate and quota are for a device" },
  direct_scheduled: {
    code: "bad_request",
    field: "exit",
    text: "direct cannot be scheduled, because it leads outside the tunnel; set it by hand",
  },
  exit_unschedulable: {
    code: "bad_request",
    field: "exit",
    text: "must be the name of a tunnel, or blocked",
  },
  nowhere_else: { code: "unable", text: "there is no other server in {place}" },
});
