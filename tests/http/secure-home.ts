import tls from "node:tls";
import type { Settings } from "../../src/base/settings.ts";
import { selfSigned } from "../../src/certificates/self-signed.ts";
import { HttpsListener } from "../../src/http/https-listener.ts";
import { ip } from "../fake/address.ts";
import { Home } from "./home.ts";
import { type Answer, answerFrom, request } from "./wire.ts";

const CERTIFICATE = await selfSigned({ names: ["localhost"], addresses: [ip("127.0.0.1")] }, Date.now());

/** Each request has a TLS handshake of its own. */
export const TIMEOUT_MS = 240_000;

/** A home whose gateway serves HTTPS too. */
export class SecureHome {
  private constructor(
    readonly home: Home,
    readonly https: HttpsListener,
  ) {}

  static async start(
    auth: Settings["auth"] = "off",
    {
      files = {},
      port = 5443,
      claim,
    }: { files?: Record<string, string>; port?: number | null; claim?: string } = {},
  ): Promise<SecureHome> {
    return SecureHome.of(await Home.start({ https: port }, files, auth, claim));
  }

  static async of(home: Home): Promise<SecureHome> {
    const https = new HttpsListener(home.app, "127.0.0.1", 0);
    https.use(CERTIFICATE);
    return new SecureHome(home, https);
  }

  /** By HTTPS, in a second of its own. */
  async send(...asked: Parameters<typeof request>): Promise<Answer> {
    await this.home.pass(1_000);
    const socket = tls.connect({
      host: "127.0.0.1",
      port: this.https.listensAt ?? 0,
      ca: CERTIFICATE.certificate,
    });
    const received: Uint8Array[] = [];
    socket.on("data", (chunk: Uint8Array) => void received.push(chunk)).on("error", () => {});
    socket.write(request(...asked));
    await new Promise((done) => socket.once("close", done));
    return answerFrom(Buffer.concat(received).toString());
  }

  /** What the events of the journal say, oldest first. */
  async alerts(headers: Record<string, string> = {}): Promise<string[]> {
    const { json } = await this.send("GET", "/api/events", undefined, headers);
    return json.events.flatMap(({ message }: { message?: string }) => message ?? []);
  }

  async stop(): Promise<void> {
    await this.https.stop();
    await this.home.stop();
  }
}

export const bearing = (token: string) => ({ Authorization: `Bearer ${token}` });
