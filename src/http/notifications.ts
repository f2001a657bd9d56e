import { Type } from "typebox";
import { NewTarget, ShownTarget, TargetList, TestResults } from "../notifications/schema.ts";
import { answers, done } from "./answers.ts";
import { clientOf, nameOf } from "./client.ts";
import { route } from "./route.ts";

const path = "/api/notifications";
/** An address is as good as a password, and whoever gets the messages knows when nobody watches over the home. */
const shared = { tag: "Settings", access: "private" } as const;

export const notificationRoutes = [
  route({
    ...shared,
    method: "get",
    path,
    summary: "List where notifications go (HTTPS only)",
    answers: answers(TargetList, "the addresses, each by its kind and its host only"),
    run: ({ notifications }) => ({ targets: notifications.list() }),
  }),
  route({
    ...shared,
    method: "post",
    path,
    summary: "Send notifications to one more address (HTTPS only)",
    body: NewTarget,
    answers: answers(ShownTarget, "messages go there from now on"),
    limit: "connection",
    run: (domain, { request, body }) => domain.notifications.add(body, nameOf(clientOf(request, domain))),
  }),
  route({
    ...shared,
    method: "delete",
    path: `${path}/:name`,
    summary: "Send no more notifications to an address (HTTPS only)",
    params: { name: Type.String({ example: "phone" }) },
    answers: done("nothing is sent there any more"),
    limit: "connection",
    run: (domain, { request, params }) =>
      domain.notifications.remove(params.name, nameOf(clientOf(request, domain))),
  }),
  route({
    ...shared,
    method: "post",
    path: `${path}/test`,
    summary: "Send a message to each address (HTTPS only)",
    answers: answers(TestResults, "the result for each address"),
    limit: "connection",
    together: "shared",
    run: async ({ notifications }) => ({ targets: await notifications.test() }),
  }),
];
