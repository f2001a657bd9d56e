import { refusals } from "../base/refusals.ts";

export const refused = refusals({
  bad_request: {
    domain_invalid: "is not a name, such as example.com",
    list_url_invalid: "must be an https address",
    list_url_with_login: "must have no name and no password",
    list_url_twice: "is there twice",
  },
  not_found: { block_list_unknown: "there is no such list" },
  unable: {
    block_list_status: "it answered with status {status}",
    block_list_empty: "there are no names in it",
    block_list_shrunk: "it has {names} names instead of {former}, and is not used; the one before stays",
    block_list_moves: "it has moved more than {max} times",
    block_list_insecure: "it has moved to an address that is not https",
  },
});
