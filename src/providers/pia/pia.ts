import type { VpnProvider } from "../provider.ts";
import { refused } from "../refusals.ts";
import { nameOf, PiaAccount } from "./account.ts";
import { PiaConnections } from "./connections.ts";
import { registrationFrom } from "./registration.ts";

export const pia: VpnProvider = {
  name: "pia",
  label: "Private Internet Access",
  ports: "pia",
  credentials: [
    { field: "user_name", name: "User name", parse: userNameIn },
    { field: "password", name: "Password", parse: passwordIn },
  ],
  list: "https://serverlist.piaservers.net/vpninfo/servers/v6",
  api: "https://www.privateinternetaccess.com",
  setting: "account pia",
  registrationIn: (text) => {
    const registration = registrationFrom(text);
    return registration && { name: nameOf(registration), privateKey: null, addresses: [], dns: [] };
  },
  accountWith: (deps) => new PiaAccount(deps),
  connectionsWith: (deps) => new PiaConnections(deps),
};

/** A user name such as `p1234567`. The error does not repeat it. */
function userNameIn(text: string): string {
  const name = text.trim();
  if (/^[\x21-\x7e]{1,64}$/.test(name)) return name;
  throw refused("user_name_invalid");
}

/** Spaces belong to a password. The error does not repeat it. */
function passwordIn(text: string): string {
  if (/^[^\p{Cc}]{1,256}$/u.test(text)) return text;
  throw refused("password_invalid");
}
