import { Access } from "../access/schema.ts";
import { HttpsStatus } from "../certificates/schema.ts";
import { answers } from "./answers.ts";
import { route } from "./route.ts";

export const accessRoutes = [
  route({
    method: "get",
    path: "/api/access",
    id: "getAccess",
    summary: "Read which token is asking",
    description: "And what needs a token here.",
    tag: "Access",
    answers: answers(Access, "what needs a token, and which one this request has"),
    run: ({ gate }, { request }) => {
      const holder = gate.holderOf(request);
      const token = holder && { name: holder.name, read_only: holder.readOnly, owner: holder.isOwner };
      return { auth: gate.auth, token };
    },
  }),
  route({
    method: "get",
    path: "/api/https",
    id: "getHttps",
    summary: "Read the certificate of HTTPS",
    description: "Its fingerprint and its validity, and the port of HTTPS.",
    tag: "Access",
    answers: answers(HttpsStatus, "the port of HTTPS and its certificate, which is not secret"),
    run: ({ https }) => https.status(),
  }),
];
