import { Type } from "typebox";
import { Credentials, LoggedOut, ShownAccount } from "../providers/schema.ts";
import { Managed, OWN_LIST, Updated } from "../servers/schema.ts";
import { answers } from "./answers.ts";
import { type Client, clientOf } from "./client.ts";
import type { Domain } from "./domain.ts";
import { refusal } from "./errors.ts";
import { refused } from "./refusals.ts";
import { route } from "./route.ts";
import { Logout } from "./schema.ts";

const path = "/api/accounts/:provider";
const params = { provider: Type.Exclude(Managed, Type.Literal(OWN_LIST)) };
/** Applies to all of them. Requests of strangers cost the provider nothing. */
const shared = { tag: "Accounts", params, limit: "connection", access: "private" } as const;

/** Bun's longest. A provider is asked up to four questions, each within a minute. */
const ANSWER_WITHIN_SECONDS = 255;

export const accountRoutes = [
  route({
    ...shared,
    method: "get",
    path,
    id: "getAccount",
    summary: "Ask the provider for the account",
    description:
      "The gateway asks the provider, which may take a minute. Secrets of the account are never in the answer.",
    answers: answers(ShownAccount, "the account, without any secret"),
    run: (domain, { request, params: { provider } }) =>
      domain.accountRequests.show(provider, patientClientOf(request, domain)),
  }),
  route({
    ...shared,
    method: "post",
    path,
    id: "logIn",
    summary: "Log in at a provider",
    description:
      "Registers a WireGuard key of the gateway with the account. `GET /api/managed` says which fields a provider needs.",
    body: Credentials,
    example: { account_number: "1234 5678 9012 3456" },
    answers: answers(ShownAccount, "the gateway is registered with the account"),
    run: (domain, { request, params: { provider }, body }) => {
      const client = patientClientOf(request, domain);
      const seconds = Math.ceil(domain.accountRequests.loginWaitMs(client) / 1_000);
      if (seconds > 0) return tooMany(seconds);
      return domain.accountRequests.logIn(provider, body, client);
    },
  }),
  route({
    ...shared,
    method: "delete",
    path,
    id: "logOut",
    summary: "Log out at a provider",
    description:
      "Removes the gateway's key at the provider, then the account here. Refused while a tunnel uses the account.",
    query: Logout,
    answers: answers(LoggedOut, "the gateway has no account there any more"),
    run: (domain, { request, params: { provider }, query }) =>
      domain.accountRequests.logOut(provider, query.forget === "true", patientClientOf(request, domain)),
  }),
  route({
    ...shared,
    method: "post",
    path: `${path}/rotate-key`,
    id: "rotateAccountKey",
    summary: "Replace the gateway's key at a provider",
    description: "Refused while a tunnel uses the account.",
    answers: answers(ShownAccount, "the account, with the new public key"),
    run: (domain, { request, params: { provider } }) =>
      domain.accountRequests.rotateKey(provider, patientClientOf(request, domain)),
  }),
  route({
    method: "post",
    path: "/api/managed/update",
    id: "updateManagedServers",
    summary: "Fetch the list of managed's servers",
    description: "The former list stays if the new one is not usable.",
    tag: "Accounts",
    answers: answers(
      Updated,
      "how many servers there are now; the former list stays if the new one is not usable",
    ),
    limit: "connection",
    access: "private",
    run: (domain, { request }) => domain.accountRequests.updateServers(patientClientOf(request, domain)),
  }),
];

/** The client; the answer may take longer than others. */
function patientClientOf(request: Request, domain: Domain): Client {
  domain.serverOf(request)?.timeout(request, ANSWER_WITHIN_SECONDS);
  return clientOf(request, domain);
}

function tooMany(seconds: number): Response {
  return refusal(429, refused("too_many_logins", { seconds }), { "Retry-After": String(seconds) });
}
