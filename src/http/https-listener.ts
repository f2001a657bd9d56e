import { createSecureContext } from "node:tls";
import type { KeyedCertificate } from "../certificates/certificate.ts";
import type { App } from "./app.ts";
import { serve } from "./server.ts";

/** Those with forward secrecy and authenticated encryption (RFC 9325, section 4.2). All of TLS 1.3's are such. */
const CIPHERS = ["AES128-GCM-SHA256", "CHACHA20-POLY1305", "AES256-GCM-SHA384"]
  .flatMap((each) => [`ECDHE-ECDSA-${each}`, `ECDHE-RSA-${each}`])
  .join(":");

/** The same interface over TLS 1.2 and 1.3, which are all that Bun offers. */
export class HttpsListener {
  constructor(
    private readonly app: App,
    private readonly hostname: string,
    /** 0 means any free port. */
    private port: number,
  ) {}

  /**
   * Listens with this certificate. Bun cannot give a server another certificate, so a new one takes over the port; the
   * former one ends what it has begun, and keeps its open WebSockets. Throws if the port is in use, or if TLS cannot use
   * the certificate; in the latter case the former server goes on.
   */
  use(certificate: KeyedCertificate): void {
    const tls = { cert: certificate.certificate, key: certificate.key, ciphers: CIPHERS };
    // Before the former one ends.
    createSecureContext(tls);
    this.retire();
    const { server, port } = serve(this.app, { hostname: this.hostname, port: this.port, tls });
    this.app.servers.https = server;
    this.port = port;
  }

  /** The port at which it listens; null if it does not. */
  get listensAt(): number | null {
    return this.app.servers.https?.port ?? null;
  }

  async stop(): Promise<void> {
    const { servers } = this.app;
    await servers.https?.stop(true);
    servers.https = null;
  }

  private retire(): void {
    const { eventSockets, servers } = this.app;
    const former = servers.https;
    servers.https = null;
    void former?.stop(false).then(() => eventSockets.end(former));
  }
}
