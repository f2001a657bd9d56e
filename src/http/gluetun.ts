import { Type } from "typebox";
import { enumOf } from "../base/enum.ts";
import { objectOf } from "../base/object.ts";
import { OWN_LIST } from "../servers/schema.ts";
import type { TunnelRow } from "../tunnel/schema.ts";
import type { StateName } from "../tunnel/state.ts";
import { answers } from "./answers.ts";
import type { Domain } from "./domain.ts";
import { GluetunSettings, settingsOf } from "./gluetun-settings.ts";
import { route } from "./route.ts";

/** As in gluetun's internal/models/publicip.go; clients such as Homarr need every field. */
export const PublicIp = objectOf({
  public_ip: Type.String({
    description:
      "IPv4 address of the server's endpoint, empty if it is not the exit's or not known; websites may see another",
  }),
  region: Type.String({ description: "the city: server lists have no regions" }),
  country: Type.String(),
  city: Type.String(),
  hostname: Type.String({ description: "name of the server" }),
  location: Type.String({ description: "always empty, as are the fields that follow" }),
  organization: Type.String(),
  postal_code: Type.String(),
  timezone: Type.String(),
});

/** As in gluetun's internal/server/wrappers.go; `port` is the first of `ports`, or 0. */
export const PortForward = objectOf({
  port: Type.Integer({ minimum: 0, maximum: 65535 }),
  ports: Type.Array(Type.Integer({ minimum: 1, maximum: 65535 })),
});

/** As in gluetun's internal/constants/status.go, as far as it applies. */
export const LoopStatus = objectOf({
  status: enumOf(["running", "starting", "stopped", "crashed"]),
});

const STATUSES = {
  connected: "running",
  connecting: "starting",
  reconnecting: "starting",
  disconnected: "stopped",
  failed: "crashed",
} as const satisfies Record<StateName, string>;

const tag = "gluetun" as const;

const main = async ({ overview }: Domain): Promise<TunnelRow> => {
  const [row] = await overview.rows();
  if (row === undefined) throw new Error("there is no main tunnel");
  return row;
};
const status = async (domain: Domain) => ({ status: STATUSES[(await main(domain)).state] });

/** The routes of gluetun's control server that widgets and port tools read, for the tunnel `main`. */
export const gluetunRoutes = [
  route({
    method: "get",
    path: "/v1/publicip/ip",
    id: "getGluetunPublicIp",
    summary: "Read the address and place of the server",
    description:
      "As gluetun's control server answers it, for the tunnel `main`. Nobody is asked: it is what the list says of the server.",
    tag,
    answers: answers(PublicIp, "what the gateway knows of the server; no one is asked for it"),
    run: async (domain) => publicIpOf(await main(domain)),
  }),
  route({
    method: "get",
    path: "/v1/portforward",
    id: "getGluetunForwardedPorts",
    summary: "Read the forwarded ports",
    description:
      "As gluetun's control server answers it, for the tunnel `main`: `port` is the first of `ports`.",
    tag,
    answers: answers(PortForward, "the ports that the provider forwards to this gateway"),
    run: ({ forwards, tunnels }) => {
      const ports = forwards.portsOf(tunnels.main.name);
      return { port: ports[0] ?? 0, ports };
    },
  }),
  route({
    method: "get",
    path: "/v1/vpn/status",
    id: "getGluetunStatus",
    summary: "Read the state of the tunnel",
    description: "As gluetun's control server answers it, for the tunnel `main`.",
    tag,
    answers: answers(LoopStatus, "the state of the tunnel"),
    run: status,
  }),
  route({
    method: "get",
    path: "/v1/dns/status",
    id: "getGluetunDnsStatus",
    summary: "Read the state of DNS",
    description:
      "As gluetun's control server answers it. Names are looked up through the tunnel, so it has the tunnel's state.",
    tag,
    answers: answers(LoopStatus, "the state of the tunnel, through which names are looked up"),
    run: status,
  }),
  route({
    method: "get",
    path: "/v1/vpn/settings",
    id: "getGluetunSettings",
    summary: "Read protocol and provider",
    description:
      "As gluetun's control server answers it. The other fields are always empty; some clients refuse an answer without them.",
    tag,
    answers: answers(GluetunSettings, "protocol and provider; every other field is empty"),
    run: async (domain) => settingsOf(providerOf(await main(domain), domain)),
  }),
];

function publicIpOf({ server, ip, location, via }: TunnelRow) {
  // A location is split as everywhere: at its last comma, and without one it is a country.
  const comma = location.lastIndexOf(",");
  const [city, country] = [location.slice(0, Math.max(0, comma)).trim(), location.slice(comma + 1).trim()];
  return {
    // With two hops, the endpoint is the entry's.
    public_ip: via === undefined ? ip : "",
    ...{ region: city, country, city, hostname: server },
    ...{ location: "", organization: "", postal_code: "", timezone: "" },
  };
}

/** Gluetun calls servers of one's own `custom`. */
function providerOf({ provider }: TunnelRow, { accounts }: Domain): string {
  const { current } = accounts.managed();
  return provider === "managed" && current !== OWN_LIST ? current : "custom";
}
