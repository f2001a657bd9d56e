import { createPrivateKey, type KeyObject, X509Certificate } from "node:crypto";
import { CommandError, type GatewayError } from "../base/errors.ts";
import { FLAGS } from "../base/flags.ts";
import type { Host } from "../system/host.ts";
import type { KeyedCertificate } from "./certificate.ts";

export interface CertificateFiles {
  certificate: string;
  key: string;
}

/** A chain of ten certificates has a third of it. */
const MAX_BYTES = 65_536;

/** The certificate and the key in the operator's files. Throws an error that names the file, and never quotes it. */
export async function certificateIn(
  { certificate, key }: CertificateFiles,
  host: Pick<Host, "read">,
): Promise<KeyedCertificate> {
  const [certificateText, keyText] = await Promise.all([
    textOf("httpsCert", certificate, host),
    textOf("httpsKey", key, host),
  ]);
  const first = parsed("httpsCert", certificate, "a certificate in PEM", () => {
    return new X509Certificate(certificateText);
  });
  if (/ENCRYPTED/.test(keyText.slice(0, 200)))
    throw refused("httpsKey", `${key} has a passphrase, and the gateway needs the key without one`);
  const own: KeyObject = parsed("httpsKey", key, "a private key in PEM", () => createPrivateKey(keyText));
  if (!first.checkPrivateKey(own))
    throw refused("httpsKey", `${key} is not the key of the certificate in ${certificate}`);
  return { certificate: certificateText, key: keyText };
}

async function textOf(
  flag: "httpsCert" | "httpsKey",
  path: string,
  host: Pick<Host, "read">,
): Promise<string> {
  const text = await host.read(path, MAX_BYTES + 1);
  if (text === null) throw refused(flag, `there is no file ${path}, or it cannot be read`);
  if (text.length > MAX_BYTES) throw refused(flag, `${path} has more than ${MAX_BYTES} bytes`);
  return text;
}

function parsed<T>(flag: "httpsCert" | "httpsKey", path: string, what: string, parse: () => T): T {
  try {
    return parse();
  } catch {
    throw refused(flag, `${path} is not ${what}`);
  }
}

function refused(flag: "httpsCert" | "httpsKey", what: string): GatewayError {
  return new CommandError("bad_request", `--${FLAGS[flag].name}: ${what}`);
}
