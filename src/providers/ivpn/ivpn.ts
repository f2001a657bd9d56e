import type { VpnProvider } from "../provider.ts";
import { refused } from "../refusals.ts";
import { IvpnAccount, SESSION } from "./account.ts";
import { IvpnApi } from "./api.ts";
import { registrationFrom } from "./registration.ts";

export const ivpn: VpnProvider = {
  name: "ivpn",
  label: "IVPN",
  ports: null,
  credentials: [
    { field: "account_id", name: "Account ID", parse: accountIdIn },
    {
      field: "two_factor_code",
      name: "Two-factor code, if the account needs one",
      parse: codeIn,
      isOptional: true,
    },
  ],
  list: "https://api.ivpn.net/v5/servers.json",
  api: "https://api.ivpn.net",
  setting: "account ivpn",
  registrationIn: (text) => {
    const registration = registrationFrom(text);
    if (registration === null) return null;
    const { privateKey, addresses } = registration;
    // The list names the resolver.
    return { name: SESSION, privateKey, addresses, dns: [] };
  },
  accountWith: ({ api, send, ...deps }) => new IvpnAccount({ ...deps, api: new IvpnApi(api, send) }),
};

/** An account ID as IVPN's apps accept it: `i-ABCD-EFGH-IJKL`, or the older `ivpnABCDEFGH`. The error does not repeat it. */
function accountIdIn(text: string): string {
  const id = text.trim();
  if (/^i(-[A-Z0-9]{4}){3}$/i.test(id)) return `i${id.slice(1).toUpperCase()}`;
  if (/^ivpn[A-Za-z0-9]{7,8}$/.test(id)) return id;
  throw refused("account_id_invalid");
}

/** The code of an authenticator app (RFC 6238), or nothing. The error does not repeat it. */
function codeIn(text: string): string {
  const code = text.replace(/\s/g, "");
  if (/^([0-9]{6,8})?$/.test(code)) return code;
  throw refused("two_factor_invalid");
}
