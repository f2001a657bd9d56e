import { createSecureContext } from "node:tls";
import type { KeyedCertificate } from "../certificates/certificate.ts";
import { boundSendBuffers } from "../system/listening-socket.ts";
import { type App, SEND_BUFFER_BYTES, type Server } from "./app.ts";

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
    const { app, eventSockets, secure } = this.app;
    const options = { hostname: this.hostname, port: this.port, tls, websocket: eventSockets.handlers };
    secure.server = serverWith(app, options);
    this.port = secure.server.port ?? this.port;
    boundSendBuffers(this.port, SEND_BUFFER_BYTES);
    eventSockets.start(secure.server);
  }

  /** The port at which it listens; null if it does not. */
  get listensAt(): number | null {
    return this.app.secure.server?.port ?? null;
  }

  async stop(): Promise<void> {
    const { secure } = this.app;
    await secure.server?.stop(true);
    secure.server = null;
  }

  private retire(): void {
    const { eventSockets, secure } = this.app;
    const former = secure.server;
    secure.server = null;
    void former?.stop(false).then(() => eventSockets.end(former));
  }
}

/**
 * A second server with the same routes. Elysia knows no such thing: it gives its routes to Bun each time it listens,
 * takes the latest server for its own, and waits for the end of the process to stop that.
 */
function serverWith(app: App["app"], options: Parameters<App["app"]["listen"]>[0]): Server {
  const first = app.server;
  const waiting = new Set(process.listeners("beforeExit"));
  try {
    app.listen(options);
    if (app.server === null || app.server === first) throw new Error("the HTTPS server is not listening");
    return app.server;
  } finally {
    app.server = first;
    for (const each of process.listeners("beforeExit"))
      if (!waiting.has(each)) process.removeListener("beforeExit", each);
  }
}
