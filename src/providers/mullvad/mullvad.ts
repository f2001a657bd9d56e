import { mustParseAddress } from "../../base/address.ts";
import { FLAGS } from "../../base/flags.ts";
import type { VpnProvider } from "../provider.ts";
import { refused } from "../refusals.ts";
import { MullvadAccount } from "./account.ts";
import { MullvadApi } from "./api.ts";
import { registrationFrom } from "./registration.ts";

/** The resolver in every Mullvad tunnel, as in the app's server list. */
const RESOLVER = mustParseAddress("10.64.0.1");

export const mullvad: VpnProvider = {
  name: "mullvad",
  label: "Mullvad",
  ports: null,
  credentials: [{ field: "account_number", name: "Account number", parse: accountNumberIn }],
  list: FLAGS.managedList.fallback,
  api: FLAGS.managedApi.fallback,
  setting: "account",
  registrationIn: (text) => {
    const registration = registrationFrom(text);
    if (registration === null) return null;
    const { name, privateKey, addresses } = registration;
    return { name, privateKey, addresses, dns: [RESOLVER] };
  },
  accountWith: ({ api, send, ...deps }) => new MullvadAccount({ ...deps, api: new MullvadApi(api, send) }),
};

/** An account number as people write it: 16 digits with spaces or dashes. The error does not repeat it. */
function accountNumberIn(text: string): string {
  const digits = text.replace(/[\s-]/g, "");
  if (/^[0-9]{16}$/.test(digits)) return digits;
  throw refused("account_number_invalid");
}
