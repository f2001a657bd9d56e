import { passphraseHash } from "../access/passphrases.ts";
import { ClaimRequest, ClaimStatus, NewToken } from "../access/schema.ts";
import { answers } from "./answers.ts";
import { clientOf } from "./client.ts";
import { route } from "./route.ts";

const PATH = "/api/owner/claim";

/** How a flashed gateway, which has no terminal, gets its owner. */
export const claimRoutes = [
  route({
    method: "get",
    path: PATH,
    id: "getClaim",
    summary: "Read whether a browser may claim this gateway",
    description: "That is possible once, in the first ten minutes of a flashed image.",
    tag: "Access",
    access: "pairing",
    answers: answers(ClaimStatus, "whether it may be claimed now"),
    run: ({ claim }) => ({ claim: claim.state }),
  }),
  route({
    method: "post",
    path: PATH,
    id: "claimGateway",
    summary: "Become the first owner of a flashed gateway",
    description: "Without a code, once, and in its first ten minutes. The token is in this answer only.",
    tag: "Access",
    access: "pairing",
    limit: "connection",
    body: ClaimRequest,
    example: { name: "laptop", passphrase: "six words that nobody else knows" },
    answers: answers(NewToken, "the token, whose text is shown only now"),
    run: async ({ claim, tokens, ...domain }, { request, body: { name, passphrase } }) => {
      const { address } = clientOf(request, domain);
      claim.assertOpen();
      // First, because it takes long: a power cut while the claim is being used would cost it.
      const hash = await passphraseHash(passphrase);
      return claim.use(() => tokens.addOwner(name, hash, address));
    },
  }),
];
