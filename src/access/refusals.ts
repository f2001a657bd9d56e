import { COMMON } from "../base/common-refusals.ts";
import { refusals } from "../base/refusals.ts";

export const refused = refusals({
  limit_reached: COMMON.limit_reached,
  name_secret: {
    code: "bad_request",
    field: "name",
    text: "looks like a secret; choose one such as phone",
  },
  token_exists: {
    code: "bad_request",
    field: "name",
    text: "{name} exists; remove it first, or choose another name",
  },
  token_unknown: {
    code: "not_found",
    text: "there is no token {name}: see sudo portcullis token list",
  },
});
