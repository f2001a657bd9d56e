import { refusals } from "../base/refusals.ts";

export const refused = refusals({
  check_late: { code: "timed_out", text: "it took longer than {seconds} s" },
});
