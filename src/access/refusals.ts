import { refusals } from "../base/refusals.ts";

export const refused = refusals({
  not_found: { token_unknown: "there is no token {name}: see sudo portcullis token list" },
});
