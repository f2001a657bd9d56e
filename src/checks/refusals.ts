import { refusals } from "../base/refusals.ts";

export const refused = refusals({
  timed_out: { check_late: "it took longer than {seconds} s" },
});
