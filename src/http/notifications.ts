import { Type } from "typebox";
import { NewTarget, ShownTarget, TargetList, TestResults } from "../notifications/schema.ts";
import { answers, DONE } from "./answers.ts";
import { clientOf, nameOf } from "./client.ts";
import { route } from "./route.ts";

const path = "/api/notifications";
/** An address is as good as a password, and the messages reveal when nobody watches over the home. */
const shared = { tag: "Settings", access: "private" } as const;

export const notificationRoutes = [
  route({
    ...shared,
    method: "get",
    path,
    id: "listNotificationTargets",
    summary: "List where notifications go",
    description: "Each address by its kind and its host only, because the rest of it may be secret.",
    answers: answers(TargetList, "the addresses, each by its kind and its host only"),
    run: ({ notifications }) => ({ targets: notifications.list() }),
  }),
  route({
    ...shared,
    method: "post",
    path,
    id: "addNotificationTarget",
    summary: "Send notifications to one more address",
    description: "To ntfy, gotify, or a webhook of your own.",
    body: NewTarget,
    answers: answers(ShownTarget, "messages go there from now on"),
    limit: "connection",
    run: (domain, { request, body }) => domain.notifications.add(body, nameOf(clientOf(request, domain))),
  }),
  route({
    ...shared,
    method: "delete",
    path: `${path}/:name`,
    id: "removeNotificationTarget",
    summary: "Send no more notifications to an address",
    description: "Nothing is sent there from now on, even if that cannot be saved.",
    params: { name: Type.String({ example: "phone" }) },
    answers: DONE,
    limit: "connection",
    run: (domain, { request, params }) =>
      domain.notifications.remove(params.name, nameOf(clientOf(request, domain))),
  }),
  route({
    ...shared,
    method: "post",
    path: `${path}/test`,
    id: "testNotifications",
    summary: "Send a message to each address",
    description: "The answer says for each whether it arrived.",
    answers: answers(TestResults, "the result for each address"),
    limit: "connection",
    together: "shared",
    run: async ({ notifications }) => ({ targets: await notifications.test() }),
  }),
];
