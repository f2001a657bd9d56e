import { mustParseAddress, mustParsePrefix } from "../../base/address.ts";
import type { VpnProvider } from "../provider.ts";
import { KEY_NAME, NordAccount, registrationFrom } from "./account.ts";
import { accessTokenIn } from "./api.ts";

// NordVPN documents none of this: the shapes are those of community projects and of its own Linux app.

/** Every client has this address, and these resolvers. */
const ADDRESSES = [mustParsePrefix("10.5.0.2/32")];
const RESOLVERS = [mustParseAddress("103.86.96.100"), mustParseAddress("103.86.99.100")];

/** All servers with WireGuard, and only the fields that are used: the whole list has 15 MB. */
const QUERY = [
  "limit=16384",
  "filters[servers.status]=online",
  "filters[servers_technologies][identifier]=wireguard_udp",
  "filters[servers_technologies][pivot][status]=online",
  "fields[servers.hostname]",
  "fields[servers.station]",
  "fields[servers.status]",
  "fields[servers.locations.country.name]",
  "fields[servers.locations.country.city.name]",
  "fields[servers.technologies.identifier]",
  "fields[servers.technologies.metadata]",
].join("&");

export const nordvpn: VpnProvider = {
  name: "nordvpn",
  label: "NordVPN",
  ports: null,
  credentials: [{ field: "access_token", name: "Access token", parse: accessTokenIn }],
  list: `https://api.nordvpn.com/v1/servers?${QUERY}`,
  api: "https://api.nordvpn.com",
  setting: "account nordvpn",
  registrationIn: (text) => {
    const registration = registrationFrom(text);
    if (registration === null) return null;
    return { name: KEY_NAME, privateKey: registration.privateKey, addresses: ADDRESSES, dns: RESOLVERS };
  },
  accountWith: (deps) => new NordAccount(deps, ADDRESSES),
};
