import { hostname } from "node:os";
import { messageOf } from "../base/errors.ts";
import { addressIn } from "../base/settings.ts";
import type { KeyedCertificate } from "../certificates/certificate.ts";
import { certificateIn } from "../certificates/given-files.ts";
import { gatewayNames } from "../certificates/names.ts";
import { OwnCertificate } from "../certificates/own-certificate.ts";
import type { App } from "../http/app.ts";
import { HttpsListener } from "../http/https-listener.ts";
import type { Parts } from "./parts.ts";

/** A certificate in files is renewed by another program, and the LAN may get other addresses. */
const LOOK_EVERY_MS = 60_000;
/** People wait for an address that comes with a cable. */
const LISTEN_AGAIN_MS = 1_000;

type Needs = Pick<Parts, "settings" | "host" | "store" | "killSwitch" | "https" | "log">;

/**
 * Serves HTTPS until `signal` aborts, each minute with the certificate that fits then. If there is none, nothing listens:
 * HTTP goes on, but leads no page to a certificate that nobody has chosen.
 */
export async function serveHttps(parts: Needs, app: App, port: number, signal: AbortSignal): Promise<void> {
  const { settings, host, killSwitch } = parts;
  const address = addressIn(settings);
  const everywhere = address === "::" && killSwitch.network.ipv6 === "missing" ? "0.0.0.0" : address;
  const listener = new HttpsListener(app, everywhere, port);
  const look = certificateOf(parts);
  let served: KeyedCertificate | null = null;
  while (!signal.aborted) {
    const wanted = await look().catch((error: unknown) => told(parts, error, listener));
    if (signal.aborted) break;
    if (wanted !== null && !Bun.deepEquals(wanted, served)) served = use(wanted, listener, parts);
    else if (served !== null && wanted !== null) parts.https.serves(served.certificate);
    await host.sleep(listener.listensAt === null ? LISTEN_AGAIN_MS : LOOK_EVERY_MS, signal);
  }
  await listener.stop();
}

/** Reads the operator's files, or makes the gateway's own certificate if it needs another one. */
function certificateOf({ settings, host, store, killSwitch, log }: Needs): () => Promise<KeyedCertificate> {
  const { httpsCert: certificate, httpsKey: key, name } = settings;
  if (certificate !== null && key !== null) return () => certificateIn({ certificate, key }, host);
  const own = new OwnCertificate({ store, log });
  return () => own.current(gatewayNames(hostname(), name, killSwitch.network), host.now());
}

function use(wanted: KeyedCertificate, listener: HttpsListener, parts: Needs): KeyedCertificate | null {
  try {
    listener.use(wanted);
  } catch (error) {
    return told(parts, error, listener);
  }
  const { https, log } = parts;
  https.serves(wanted.certificate);
  const { certificate } = https.status();
  log.info(
    `HTTPS on port ${listener.listensAt}; the certificate's SHA-256 fingerprint is ${certificate?.fingerprint}`,
  );
  return wanted;
}

/** Once for each cause. */
function told({ https, log }: Needs, error: unknown, listener: HttpsListener): null {
  const message = messageOf(error);
  if (https.status().error !== message) log.error(`HTTPS: ${message}`);
  https.fails(message, listener.listensAt !== null);
  return null;
}
