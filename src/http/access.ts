import { Access } from "../access/schema.ts";
import { HttpsStatus } from "../certificates/schema.ts";
import { answers } from "./answers.ts";
import { route } from "./route.ts";

export const accessRoutes = [
  route({
    method: "get",
    path: "/api/access",
    summary: "Which token is asking",
    tag: "Access",
    answers: answers(Access, "what needs a token, and which one this request has"),
    run: ({ gate }, { request }) => {
      const holder = gate.holderOf(request);
      return { auth: gate.auth, token: holder && { name: holder.name, read_only: holder.readOnly } };
    },
  }),
  route({
    method: "get",
    path: "/api/https",
    summary: "Read the certificate of HTTPS",
    tag: "Access",
    answers: answers(HttpsStatus, "the port of HTTPS and its certificate, which is not secret"),
    run: ({ https }) => https.status(),
  }),
];
