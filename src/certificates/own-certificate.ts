import { createPrivateKey, X509Certificate } from "node:crypto";
import { messageOf } from "../base/errors.ts";
import type { Log } from "../base/log.ts";
import { savedJson } from "../base/saved.ts";
import type { Store } from "../store/store.ts";
import { factsOf, KeyedCertificate } from "./certificate.ts";
import { areCovered, type GatewayNames } from "./names.ts";

/** It is not part of a backup: each installation makes its own, so that no copy of a key is elsewhere. */
const OWN_CERTIFICATE = savedJson("https_certificate", KeyedCertificate, null);

/** Browsers that have not asked for a month ask their user again anyway. */
const RENEWED_BEFORE_MS = 30 * 24 * 60 * 60 * 1000;

interface Deps {
  store: Pick<Store, "read" | "write" | "scrub">;
  log: Pick<Log, "warn">;
}

/** The certificate that the gateway makes for itself, with a new key each time. */
export class OwnCertificate {
  /** In memory too: the database may be read-only. */
  private present: KeyedCertificate | null = null;

  constructor(private readonly deps: Deps) {}

  /** The present one, or a new one if that does not fit these names, or the time: `now` in milliseconds. */
  async current(names: GatewayNames, now: number): Promise<KeyedCertificate> {
    this.present ??= OWN_CERTIFICATE.read(this.deps.store);
    if (this.present !== null && fits(this.present, names, now)) return this.present;
    // Rarely needed, and large.
    const { selfSigned } = await import("./self-signed.ts");
    this.present = await selfSigned(names, now);
    this.save(this.present);
    return this.present;
  }

  /** Nothing of the former key stays on the disk. */
  private save(made: KeyedCertificate): void {
    const { store, log } = this.deps;
    try {
      OWN_CERTIFICATE.write(store, made);
      store.scrub();
    } catch (error) {
      log.warn(
        `HTTPS: the certificate cannot be kept, and the next start makes another: ${messageOf(error)}`,
      );
    }
  }
}

/**
 * A certificate that was made while the clock was ahead is not valid yet. One that cannot be read, or lacks its key,
 * counts as missing.
 */
function fits({ certificate, key }: KeyedCertificate, names: GatewayNames, now: number): boolean {
  try {
    const facts = factsOf(certificate);
    const isValid = facts.notBefore <= now && now < facts.notAfter - RENEWED_BEFORE_MS;
    const hasKey = new X509Certificate(certificate).checkPrivateKey(createPrivateKey(key));
    return isValid && hasKey && areCovered(names, facts.names);
  } catch {
    return false;
  }
}
