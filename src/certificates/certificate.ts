import { X509Certificate } from "node:crypto";
import { type Static, Type } from "typebox";
import { objectOf } from "../base/object.ts";

/** A certificate and its private key, both in PEM. Certificates that lead to its authority may follow it. */
export const KeyedCertificate = objectOf({ certificate: Type.String(), key: Type.String() });
export type KeyedCertificate = Static<typeof KeyedCertificate>;

/** What a certificate says. */
export interface CertificateFacts {
  /** SHA-256 of it, as browsers show it. */
  fingerprint: string;
  /** The names and addresses that it is for. */
  names: string[];
  /** In milliseconds since 1970. */
  notBefore: number;
  notAfter: number;
}

/** The facts of the first certificate in a PEM text; throws if there is none. */
export function factsOf(pem: string): CertificateFacts {
  const certificate = new X509Certificate(pem);
  return {
    fingerprint: certificate.fingerprint256,
    names: (certificate.subjectAltName ?? "").split(", ").flatMap((each) => nameIn(each)),
    notBefore: Date.parse(certificate.validFrom),
    notAfter: Date.parse(certificate.validTo),
  };
}

/** Other kinds of names are not for servers. */
function nameIn(text: string): string[] {
  const [, name] = /^(?:DNS|IP Address):([^"]+)$/.exec(text) ?? [];
  return name === undefined ? [] : [name];
}
