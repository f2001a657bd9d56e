import { refusals } from "../base/refusals.ts";

export const refused = refusals({
  not_found: { token_unknown: "there is no token {name}: see sudo portcullis token list" },
  forbidden: {
    token_of_owner: "only an owner, or root, can remove the token of an owner",
    claim_over:
      "a browser can claim this gateway once, in the first {minutes} minutes of a flashed image; for another {minutes} minutes, put an empty file named claim on the first partition of the card, and turn the gateway on with it",
  },
  "forbidden: code": {
    code_wrong:
      "is wrong, was used, or is older than {minutes} minutes; for another one, on the gateway: sudo portcullis pair",
  },
  "forbidden: passphrase": { owner_passphrase_wrong: "is wrong; nothing was changed" },
  rate_limited: {
    too_many_passphrases: "too many passphrases: try again in a minute",
    passphrase_tried: "a wrong passphrase came, so nothing restarts yet: try again in {minutes} minutes",
  },
});
