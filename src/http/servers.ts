import { type Static, Type } from "typebox";
import { nextTurn } from "../base/queue.ts";
import { FavouriteList, PROVIDERS, Provider } from "../servers/schema.ts";
import { answers, DONE } from "./answers.ts";
import { answerWith, entityOnce } from "./etag.ts";
import { route } from "./route.ts";
import {
  ManagedChoice,
  ManagedChoices,
  Providers,
  RoundTripList,
  ServerCounts,
  Servers,
  Switched,
} from "./schema.ts";
import { SERVER_EXAMPLE } from "./tunnels.ts";

const LISTED = answers(
  Servers,
  "the current provider's servers by country and city; 304 if If-None-Match has the current ETag",
);
const listed = entityOnce(assertServers);

const favourite = { provider: Provider, server: Type.String({ example: SERVER_EXAMPLE }) };

export const serverRoutes = [
  route({
    method: "get",
    path: "/api/providers",
    id: "listProviders",
    summary: "List the providers",
    description:
      "`managed` has the servers of a VPN account or of a list, `custom` those that you added, `imported` those of WireGuard files.",
    tag: "Servers",
    answers: answers(Providers, "all providers and the current one"),
    run: ({ catalogue }) => ({ providers: [...PROVIDERS], current: catalogue.current() }),
  }),
  route({
    method: "post",
    path: "/api/provider/:provider",
    id: "setProvider",
    summary: "Switch the current provider",
    description:
      "The provider whose servers are listed, and of which a server is if a request names no provider. A live tunnel is not changed.",
    tag: "Servers",
    params: { provider: Provider },
    answers: answers(Switched, "the provider is now the current one; a live tunnel is not changed"),
    limit: "connection",
    together: "queued",
    run: ({ catalogue }, { params: { provider } }) => {
      catalogue.use(provider);
      return { success: true as const, provider };
    },
  }),
  route({
    method: "get",
    path: "/api/managed",
    id: "listManagedProviders",
    summary: "List whose servers managed can have",
    description:
      "Each VPN provider with the fields that a login asks for, and whether the gateway has an account there.",
    tag: "Servers",
    answers: answers(ManagedChoices, "whose servers `managed` can have, and has"),
    run: ({ accounts }) => accounts.managed(),
  }),
  route({
    method: "put",
    path: "/api/managed",
    id: "setManagedProvider",
    summary: "Choose whose servers managed has",
    description: "Refused while a tunnel uses a server of `managed`.",
    tag: "Servers",
    body: ManagedChoice,
    example: { name: "list" },
    answers: DONE,
    run: ({ accounts }, { body }) => accounts.choose(body.name),
  }),
  route({
    method: "get",
    path: "/api/servers",
    id: "listServers",
    summary: "List the current provider's servers",
    description: "By country, then by city. It has an ETag.",
    tag: "Servers",
    answers: LISTED,
    run: async ({ catalogue }, { request }) => answerWith(await listed(catalogue.tree()), request),
  }),
  route({
    method: "get",
    path: "/api/servers/counts",
    id: "countServers",
    summary: "Count the servers of each provider",
    description: "Only servers that can be connected to count: those of `managed` need an account.",
    tag: "Servers",
    answers: answers(ServerCounts, "the current provider, and how many servers each has"),
    run: ({ catalogue }) => ({ current: catalogue.current(), usable: catalogue.usable() }),
  }),
  route({
    method: "get",
    path: "/api/favourites",
    id: "listFavourites",
    summary: "List favourite and recent servers",
    description:
      "Favourites in the order in which they were added; recent servers are those that `main` was connected to last.",
    tag: "Servers",
    answers: answers(FavouriteList, "the favourite servers, and those that `main` was connected to last"),
    run: ({ favourites, past }) => ({ favourites: favourites.list(), recent: past.recent() }),
  }),
  route({
    method: "put",
    path: "/api/favourites/:provider/:server",
    id: "addFavourite",
    summary: "Make a server a favourite",
    description: "Nothing changes if it is one already.",
    tag: "Servers",
    params: favourite,
    answers: DONE,
    together: "queued",
    run: ({ favourites }, { params }) => favourites.add(params.provider, params.server),
  }),
  route({
    method: "delete",
    path: "/api/favourites/:provider/:server",
    id: "removeFavourite",
    summary: "Remove a server from the favourites",
    description: "Nothing changes if it is not a favourite.",
    tag: "Servers",
    params: favourite,
    answers: DONE,
    together: "queued",
    run: ({ favourites }, { params }) => favourites.remove(params.provider, params.server),
  }),
  route({
    method: "get",
    path: "/api/round-trips",
    id: "listRoundTrips",
    summary: "List measured round trips to servers",
    description:
      "Connecting to a place measures the round trips of some of its servers by WireGuard handshakes. They are kept for ten minutes.",
    tag: "Servers",
    answers: answers(RoundTripList, "the round trips that were measured in the last ten minutes"),
    run: ({ tunnels, catalogue, host }) => ({
      round_trips: tunnels.roundTrips
        .all((...which) => catalogue.server(...which))
        .map(({ server: { provider, name, via }, ms, ageMs }) => ({
          provider,
          server: name,
          ...(via !== undefined && { via: via.name }),
          ms: Math.round(ms * 10) / 10,
          measured_at: new Date(host.now() - ageMs).toISOString(),
        })),
    }),
  }),
];

/** Elysia validates objects, but this route answers with bytes. Each country has its turn: 20,000 servers take 30 ms. */
async function assertServers({ servers, ...rest }: Static<typeof Servers>): Promise<void> {
  for (const [country, cities] of Object.entries(servers)) {
    await nextTurn();
    assertFit({ ...rest, servers: { [country]: cities } });
  }
  await nextTurn();
  assertFit({ ...rest, servers: {} });
}

function assertFit(servers: Static<typeof Servers>): void {
  const checked = LISTED[200]["~standard"].validate(servers);
  if ("issues" in checked)
    throw new Error(`the answer does not fit its schema: ${checked.issues[0]?.message}`);
}
