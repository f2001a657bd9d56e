import { refusals } from "../base/refusals.ts";

export const refused = refusals({
  domain_invalid: { code: "bad_request", text: "is not a name, such as example.com" },
  list_url_invalid: { code: "bad_request", text: "must be an https address" },
  list_url_with_login: { code: "bad_request", text: "must have no name and no password" },
  list_url_twice: { code: "bad_request", text: "is there twice" },
  block_list_unknown: { code: "not_found", text: "there is no such list" },
  block_list_status: { code: "unable", text: "it answered with status {status}" },
  block_list_empty: { code: "unable", text: "there are no names in it" },
  block_list_moves: { code: "unable", text: "it has moved more than {max} times" },
  block_list_insecure: { code: "unable", text: "it has moved to an address that is not https" },
});
