import type { HttpsAnswer, HttpsRequest } from "../../../src/system/host.ts";
import { PRIVATE } from "../../servers/example.ts";
import { FakeSite, json } from "../site.ts";

export const TOKEN = "0123456789abcdef".repeat(4);

/** NordVPN in memory, as community projects know it. */
export class FakeNord extends FakeSite {
  answer({ method, url, headers }: HttpsRequest): HttpsAnswer {
    const { pathname } = new URL(url);
    if (`${method} ${pathname}` !== "GET /v1/users/services/credentials") return json(404, {});
    if (headers.authorization !== `Basic ${btoa(`token:${TOKEN}`)}`)
      return json(401, { errors: { code: 101301, message: "Unauthorized" } });
    return json(200, { id: 1, username: "x", password: "y", nordlynx_private_key: PRIVATE });
  }
}
