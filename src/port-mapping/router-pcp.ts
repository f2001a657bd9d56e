import { Refusal } from "./internet-gateway.ts";
import { PCP_RESULT, pcpQuestionOf } from "./pcp.ts";
import { type RouterProtocol, spoken } from "./router-protocol.ts";

/** Port Control Protocol (RFC 6887). */
export const ROUTER_PCP: RouterProtocol = {
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
