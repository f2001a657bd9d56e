import { Refusal } from "./internet-gateway.ts";
import { questionOf, RESULT } from "./nat-pmp.ts";
import { type RouterProtocol, spoken } from "./router-protocol.ts";

/** NAT Port Mapping Protocol (RFC 6886). */
export const ROUTER_NAT_PMP: RouterProtocol = {
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
