import type { VpnProvider } from "../provider.ts";
import { IvpnAccount, SESSION } from "./account.ts";
import { IvpnApi } from "./api.ts";
import { accountIdIn, codeIn } from "./id.ts";
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
