import { isIP } from "node:net";
import { join } from "node:path";

/** Writes a self-signed certificate for a name or an address, and its key. */
export async function makeCertificate(
  folder: string,
  name: string,
): Promise<{ certificate: string; key: string }> {
  const certificate = join(folder, "certificate.pem");
  const key = join(folder, "key.pem");
  const child = Bun.spawn(
    [
      ...["openssl", "req", "-x509", "-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:prime256v1", "-nodes"],
      ...["-keyout", key, "-out", certificate, "-days", "2"],
      ...["-subj", `/CN=${name}`, "-addext", `subjectAltName=${isIP(name) === 0 ? "DNS" : "IP"}:${name}`],
    ],
    { stderr: "pipe" },
  );
  if ((await child.exited) !== 0) throw new Error(await child.stderr.text());
  return { certificate, key };
}
