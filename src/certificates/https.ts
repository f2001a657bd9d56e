import { type CertificateFacts, factsOf } from "./certificate.ts";
import type { HttpsStatus } from "./schema.ts";

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
