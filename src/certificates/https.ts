import { type Static, Type } from "typebox";
import { type CertificateFacts, factsOf } from "./certificate.ts";

/** GET /api/https. */
export const HttpsStatus = Type.Object(
  {
    port: Type.Union([Type.Integer(), Type.Null()], { description: "null if HTTPS is off" }),
    certificate: Type.Union(
      [
        Type.Object(
          {
            fingerprint: Type.String({ description: "SHA-256, as browsers show it", examples: ["AB:CD:…"] }),
            names: Type.Array(Type.String(), { description: "the names and addresses that it is for" }),
            not_after: Type.String({ description: "ISO 8601" }),
            own: Type.Boolean({ description: "whether the gateway has made and signed it itself" }),
            pem: Type.String({ description: "the certificate, for programs that should trust it" }),
          },
          { additionalProperties: false },
        ),
        Type.Null(),
      ],
      { description: "null if there is none yet, or if HTTPS is off" },
    ),
    error: Type.Union([Type.String(), Type.Null()], { description: "why HTTPS does not work as it should" }),
  },
  { additionalProperties: false },
);
export type HttpsStatus = Static<typeof HttpsStatus>;

/** What is known of HTTPS; the listener tells it. */
export class Https {
  private facts: (CertificateFacts & { pem: string }) | null = null;
  private error: string | null = null;
  private readonly first = Promise.withResolvers<void>();

  constructor(
    readonly port: number | null,
    /** Whether the gateway makes its certificate itself. */
    private readonly isOwn: boolean,
  ) {
    if (port === null) this.first.resolve();
  }

  /** A certificate is in use. */
  serves(pem: string): void {
    this.facts = { ...factsOf(pem), pem };
    this.error = null;
    this.first.resolve();
  }

  /** What was served before, if anything, is still served if `goesOn`. */
  fails(error: string, goesOn: boolean): void {
    this.error = error;
    if (!goesOn) this.facts = null;
    this.first.resolve();
  }

  /** Resolves once a certificate is in use, or cannot be. */
  get started(): Promise<void> {
    return this.first.promise;
  }

  status(): HttpsStatus {
    const { port, facts, isOwn, error } = this;
    return {
      port,
      certificate: facts && {
        fingerprint: facts.fingerprint,
        names: facts.names,
        not_after: new Date(facts.notAfter).toISOString(),
        own: isOwn,
        pem: facts.pem,
      },
      error,
    };
  }
}
