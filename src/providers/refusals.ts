import { refusals } from "../base/refusals.ts";

const UNPAID = "check whether the account is paid: sudo portcullis account show --provider pia";
const CAUSE_UNKNOWN = "it is unknown which key the provider has, and connecting may fail; try again";

export const refused = refusals({
  unable: {
    account_in_use: "a tunnel uses the account; disconnect first: portcullis disconnect",
    account_exists:
      'there already is an account at {provider} here, with the registration "{name}"; log out first: {command}',
    account_needed: "{server} needs an account at its provider",
    account_unreadable:
      "the stored account cannot be read and is not used; log in again{page, select, none {} other {, which makes a new {registration}, and remove the old one at {page}}}",
    account_unreadable_here:
      "there is no readable account at PIA here; type: sudo portcullis account login --provider pia",
    // What a provider answers.
    provider_answer_unusable: "the provider's answer contains no usable {what_for}; try again later",
    provider_answer_unclear:
      "the provider's answer is not understood (HTTP {status}); {advice, select, api {check --managed-api} other {try again later}}",
    provider_other_key: "the provider's answer contains another key than the request; try again later",
    provider_down: "the provider has an internal problem (HTTP {status}); try again later",
    provider_limits:
      "too many attempts; {seconds, select, unknown {try again in a few minutes} other {try again in {seconds} seconds}}",
    provider_refused: "the provider refused: {reason}",
    account_number_unknown: "the provider does not know this account number; check it for typing errors",
    account_id_unknown: "IVPN does not know this account ID; check it for typing errors",
    registrations_full:
      "the account has the maximum number of registrations; remove one at {page}, then try again",
    sessions_full:
      "the account is logged in on the maximum number of devices; log out one of them in its app or at {page}, then try again",
    key_known: "the provider already knows the new key; try again, which makes another one",
    registration_gone: "the registration was removed from the account; log out, then log in again",
    token_refused: "the provider does not accept the access token that it just issued; try again later",
    account_inactive: "the account is not active; pay for it at {page}, then try again",
    account_expired: "the account has expired; renew it at {page}",
    captcha_asked:
      "after failed logins IVPN asks for a captcha, which cannot be shown here; wait an hour, or log in once with IVPN's app from this network, then try again",
    two_factor_asked:
      "the account has two-factor authentication; log in again, and enter the code after the account ID",
    two_factor_wrong: "the two-factor code is wrong or too old; log in again with a new one",
    access_token_refused:
      "NordVPN does not accept the access token, or the account is not paid for; make another token at {page}",
    pia_login_refused: "PIA does not accept the user name or the password; check both",
    pia_token_refused: "PIA does not accept the access token that it issued; try again",
    pia_key_refused: `{server} refused the gateway's key; ${UNPAID}`,
    pia_port_refused: `{server} opens no port for this account; check whether it is paid: sudo portcullis account show --provider pia`,
    pia_port_gone: "{server} no longer accepts the port that PIA reserved",
    pia_port_elsewhere: "PIA's port can be opened on the main tunnel only; use that one",
    pia_region_without_ports:
      "PIA opens no ports in the region of {server} ({location}); connect to another region, outside the United States",
    server_not_of_account: "{server} is not a server of the account in use",
    // What is left after a request to a provider has failed.
    registration_left: "{reason}; an unused {registration} may be left in the account: {page}",
    key_undecided: `{reason}; ${CAUSE_UNKNOWN}`,
    logout_failed: "{reason}; nothing was changed; pass --forget to remove the account here only",
    key_not_accepted: "IVPN did not accept the new key; try again",
    key_assigned: "NordVPN assigns the key; to use the account's present key, log out, then log in again",
    key_of_connection: "each connection to PIA gets a new key; connect again for another one",
  },
  bad_request: {
    account_number_invalid: "Account number: must be 16 digits",
    account_id_invalid: "Account ID: must look like i-ABCD-EFGH-IJKL",
    two_factor_invalid: "Two-factor code: must be 6 to 8 digits, or empty",
    access_token_invalid: "Access token: must be 64 hexadecimal digits",
    user_name_invalid: "User name: must look like p1234567",
    password_invalid: "Password: must be 1 to 256 characters without control characters",
  },
  "bad_request: name": { managed_in_use: "a tunnel uses a server of managed; disconnect first" },
  "bad_request: provider": { provider_unknown: "unknown name; known providers: {known}" },
  not_found: {
    account_none:
      "there is no account{provider, select, any {} other { at {provider}}} here; log in with: portcullis account login{option}",
  },
});
