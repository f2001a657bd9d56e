import type { VpnProvider } from "../provider.ts";
import { nameOf, PiaAccount } from "./account.ts";
import { PiaConnections } from "./connections.ts";
import { passwordIn, userNameIn } from "./credentials.ts";
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
