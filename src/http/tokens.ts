import { Type } from "typebox";
import { NewToken, TokenList, TokenRequest } from "../access/schema.ts";
import { setupCommand } from "../system/layout.ts";
import { answers, DONE } from "./answers.ts";
import { clientOf, nameOf, refuseUnknown } from "./client.ts";
import { route } from "./route.ts";

const path = "/api/tokens";
/** A token gives rights. */
const shared = { tag: "Settings", access: "private" } as const;
/** A guest could make a token that is valid once tokens are asked for. */
const ROOTS = {
  danger: "token" as const,
  commands: `sudo portcullis token, and ${setupCommand("--auth write")} (or on)`,
};

export const tokenRoutes = [
  route({
    ...shared,
    method: "get",
    path,
    id: "listTokens",
    summary: "List the tokens",
    description: "Without their texts, which are kept nowhere.",
    answers: answers(TokenList, "what needs a token, and the tokens without their texts"),
    run: ({ gate, tokens }) => ({ auth: gate.auth, tokens: tokens.list() }),
  }),
  route({
    ...shared,
    method: "post",
    path,
    id: "createToken",
    summary: "Make a token",
    description: "Its text is in this answer only.",
    body: TokenRequest,
    example: { name: "prometheus", read_only: true },
    answers: answers(NewToken, "the token, whose text is shown only now"),
    limit: "connection",
    run: async (domain, { request, body: { name, read_only = false } }) => {
      refuseUnknown(request, domain, ROOTS);
      return domain.tokens.add(name, read_only, nameOf(clientOf(request, domain)));
    },
  }),
  route({
    ...shared,
    method: "delete",
    path: `${path}/:name`,
    id: "removeToken",
    summary: "Remove a token",
    description: "Requests with it are refused, and its WebSockets are closed.",
    params: { name: Type.String({ example: "prometheus" }) },
    answers: DONE,
    limit: "connection",
    run: async (domain, { request, params: { name } }) => {
      refuseUnknown(request, domain, ROOTS);
      const isOwner = domain.gate.holderOf(request)?.isOwner === true;
      await domain.tokens.remove(name, nameOf(clientOf(request, domain)), isOwner);
    },
  }),
];
