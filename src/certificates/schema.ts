import { type Static, Type } from "typebox";
import { objectOf } from "../base/object.ts";

/** GET /api/https. */
export const HttpsStatus = objectOf({
  port: Type.Union([Type.Integer(), Type.Null()], { description: "null if HTTPS is off" }),
  certificate: Type.Union(
    [
      objectOf({
        fingerprint: Type.String({ description: "SHA-256, as browsers show it", examples: ["AB:CD:…"] }),
        names: Type.Array(Type.String(), { description: "the names and addresses that it is for" }),
        not_after: Type.String({ description: "ISO 8601" }),
        own: Type.Boolean({ description: "whether the gateway has made and signed it itself" }),
        pem: Type.String({ description: "the certificate, for programs that should trust it" }),
      }),
      Type.Null(),
    ],
    { description: "null if there is none yet, or if HTTPS is off" },
  ),
  error: Type.Union([Type.String(), Type.Null()], { description: "why HTTPS does not work as it should" }),
});
export type HttpsStatus = Static<typeof HttpsStatus>;
