import { passphraseHash } from "../access/passphrases.ts";
import { ClaimRequest, ClaimStatus, NewToken } from "../access/schema.ts";
import { contains, parseAddress, prefixOf, unmapped } from "../base/address.ts";
import { answers } from "./answers.ts";
import { clientOf } from "./client.ts";
import type { Domain } from "./domain.ts";
import { refused } from "./refusals.ts";
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
    run: ({ claim, ...domain }, { request }) => {
      refuseAway(clientOf(request, domain).address, domain);
      return { claim: claim.state };
    },
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
    run: async (
      { claim, portFinder, accessPoint, tokens, ...domain },
      { request, body: { name, passphrase } },
    ) => {
      const { address } = clientOf(request, domain);
      refuseAway(address, domain);
      claim.assertOpen();
      // First, because it takes long: a power cut while the claim is being used would cost it.
      const hash = await passphraseHash(passphrase);
      portFinder.assertQuiet();
      accessPoint.assertQuiet();
      return claim.use(() => tokens.addOwner(name, hash, address));
    },
  }),
];

/** Whoever turns the gateway on is at home. A gateway that is claimed again may have devices elsewhere that use its page. */
function refuseAway(address: string, { tunnels: { killSwitch } }: Pick<Domain, "tunnels">): void {
  const peer = parseAddress(address.replace(/%.*/, ""));
  const away = [
    ...killSwitch.network.meshes.flatMap(({ prefixes }) => prefixes),
    ...(killSwitch.remote?.devices ?? []).flatMap(({ addresses }) => addresses.map(prefixOf)),
  ];
  if (peer === null || away.some((prefix) => contains(prefix, unmapped(peer)))) throw refused("not_local");
}
