import { COMMON } from "../base/common-refusals.ts";
import { refusals } from "../base/refusals.ts";

export const refused = refusals({
  limit_reached: COMMON.limit_reached,
  name_secret: COMMON.name_secret,
  name_exists: COMMON.name_exists,
  token_unknown: {
    code: "not_found",
    text: "there is no token {name}: see sudo portcullis token list",
  },
});
