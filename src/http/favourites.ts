import { Elysia } from "elysia";
import { Type } from "typebox";
import { FavouriteList, Provider } from "../servers/schema.ts";
import { answers, Success } from "./answers.ts";
import { unusedBody } from "./body.ts";
import { CONNECT_EXAMPLE } from "./examples.ts";
import type { Gateway } from "./gateway.ts";
import { standardSchema } from "./standard-schema.ts";

const PATH = standardSchema(
  Type.Object(
    { provider: Provider, server: Type.String({ example: CONNECT_EXAMPLE.server }) },
    { additionalProperties: false },
  ),
  "path",
);

export function favouriteRoutes(gateway: Gateway) {
  return new Elysia()
    .get("/api/favourites", () => gateway.favourites(), {
      response: answers(FavouriteList, "the favourite servers, and those that `main` was connected to last"),
      detail: { summary: "List favourite and recent servers", tags: ["Servers"] },
    })
    .put(
      "/api/favourites/:provider/:server",
      async ({ params: { provider, server } }) => {
        await gateway.addFavourite(provider, server);
        return { success: true as const };
      },
      {
        parse: unusedBody,
        params: PATH,
        response: answers(Success, "the server is a favourite, whether or not it was one before"),
        detail: { summary: "Make a server a favourite", tags: ["Servers"] },
      },
    )
    .delete(
      "/api/favourites/:provider/:server",
      async ({ params: { provider, server } }) => {
        await gateway.removeFavourite(provider, server);
        return { success: true as const };
      },
      {
        parse: unusedBody,
        params: PATH,
        response: answers(Success, "the server is not a favourite, whether or not it was one before"),
        detail: { summary: "Remove a server from the favourites", tags: ["Servers"] },
      },
    );
}
