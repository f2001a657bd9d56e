import { type Static, Type } from "typebox";
import { nextTurn } from "../base/queue.ts";
import { FavouriteList, PROVIDERS, Provider } from "../servers/schema.ts";
import { answers, done } from "./answers.ts";
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
    summary: "List the providers",
    tag: "Servers",
    answers: answers(Providers, "all providers and the current one"),
    run: ({ catalogue }) => ({ providers: [...PROVIDERS], current: catalogue.current() }),
  }),
  route({
    method: "post",
    path: "/api/provider/:provider",
    summary: "Switch the current provider",
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
    summary: "List whose servers managed can have",
    tag: "Servers",
    answers: answers(ManagedChoices, "whose servers `managed` can have, and has"),
    run: ({ accounts }) => accounts.managed(),
  }),
  route({
    method: "put",
    path: "/api/managed",
    summary: "Choose whose servers managed has",
    tag: "Servers",
    body: ManagedChoice,
    example: { name: "list" },
    answers: done("the servers of `managed` are now those; no tunnel may use one of them"),
    run: ({ accounts }, { body }) => accounts.choose(body.name),
  }),
  route({
    method: "get",
    path: "/api/servers",
    summary: "List the current provider's servers",
    tag: "Servers",
    answers: LISTED,
    run: async ({ catalogue }, { request }) => answerWith(await listed(catalogue.tree()), request),
  }),
  route({
    method: "get",
    path: "/api/servers/counts",
    summary: "Count the servers of each provider",
    tag: "Servers",
    answers: answers(ServerCounts, "the current provider, and how many servers each has"),
    run: ({ catalogue }) => ({ current: catalogue.current(), usable: catalogue.usable() }),
  }),
  route({
    method: "get",
    path: "/api/favourites",
    summary: "List favourite and recent servers",
    tag: "Servers",
    answers: answers(FavouriteList, "the favourite servers, and those that `main` was connected to last"),
    run: ({ favourites, past }) => ({ favourites: favourites.list(), recent: past.recent() }),
  }),
  route({
    method: "put",
    path: "/api/favourites/:provider/:server",
    summary: "Make a server a favourite",
    tag: "Servers",
    params: favourite,
    answers: done("the server is a favourite, whether or not it was one before"),
    together: "queued",
    run: ({ favourites }, { params }) => favourites.add(params.provider, params.server),
  }),
  route({
    method: "delete",
    path: "/api/favourites/:provider/:server",
    summary: "Remove a server from the favourites",
    tag: "Servers",
    params: favourite,
    answers: done("the server is not a favourite, whether or not it was one before"),
    together: "queued",
    run: ({ favourites }, { params }) => favourites.remove(params.provider, params.server),
  }),
  route({
    method: "get",
    path: "/api/round-trips",
    summary: "List measured round trips to servers",
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
