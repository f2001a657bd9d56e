import { Refusal } from "./internet-gateway.ts";
import { questionOf, RESULT } from "./nat-pmp.ts";
import { PCP_RESULT, pcpQuestionOf } from "./pcp.ts";
import { type RouterProtocol, spoken } from "./router-protocol.ts";

/** Port Control Protocol (RFC 6887). */
const ROUTER_PCP: RouterProtocol = {
  title: "PCP",
  families: [4, 6],
  async map({ own, port: internal, external }, lifetime, { ask, nonce }) {
    const question = pcpQuestionOf({ own, nonce: nonce(), internal, external, lifetime });
    const answer = spoken(await ask(question));
    if (answer.result !== PCP_RESULT.success) throw new Refusal(`refused (result ${answer.result})`);
    const { address, epoch } = answer;
    return { external: answer.external, address, lifetime: answer.lifetime, epoch };
  },
};

/** NAT Port Mapping Protocol (RFC 6886). */
const ROUTER_NAT_PMP: RouterProtocol = {
  title: "NAT-PMP",
  families: [4],
  async map(request, lifetime, { ask }) {
    const { port: internal } = request;
    const external = lifetime === 0 ? 0 : request.external;
    const asked = { asks: "mapping", protocol: "udp", internal, external, lifetime } as const;
    const answer = spoken(await ask(questionOf(asked)));
    if (answer.answers !== "mapping" || answer.result !== RESULT.success)
      throw new Refusal(`refused (result ${answer.result})`);
    const { epoch } = answer;
    const told = lifetime === 0 ? null : await ask(questionOf({ asks: "address" }));
    const address = typeof told === "object" && told?.answers === "address" ? told.address : null;
    return { external: answer.external, address, lifetime: answer.lifetime, epoch };
  },
};

/** UPnP (InternetGatewayDevice). For IPv6 it has another service, which routers offer to programs of the same address only. */
const ROUTER_UPNP: RouterProtocol = {
  title: "UPnP",
  families: [4],
  async map(request, lifetime, { upnp, forbid, signal }) {
    const { external } = request;
    try {
      if (lifetime > 0) return { lifetime, epoch: null, ...(await upnp.open(request, lifetime, signal)) };
      await upnp.close(request, signal);
      return { external, address: null, lifetime, epoch: null };
    } finally {
      await forbid();
    }
  },
};

const ROWS = { pcp: ROUTER_PCP, "nat-pmp": ROUTER_NAT_PMP, upnp: ROUTER_UPNP };
export type RouterProtocolName = keyof typeof ROWS;

/** How a home router is asked for a port, in the order in which that is tried. */
export const ROUTER_PROTOCOLS: Readonly<Record<RouterProtocolName, RouterProtocol>> = ROWS;
export const ROUTER_PROTOCOL_NAMES = Object.keys(ROWS) as RouterProtocolName[];
