import { Access } from "../access/schema.ts";
import { answers } from "./answers.ts";
import { route } from "./route.ts";

export const accessRoute = route({
  method: "get",
  path: "/api/access",
  summary: "Which token is asking",
  tag: "Access",
  answers: answers(Access, "what needs a token, and which one this request has"),
  run: ({ gate }, { request }) => {
    const holder = gate.holderOf(request);
    return { auth: gate.auth, token: holder && { name: holder.name, read_only: holder.readOnly } };
  },
});
