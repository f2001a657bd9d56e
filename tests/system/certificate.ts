import { isIP } from "node:net";
import { join } from "node:path";

/** Writes a self-signed certificate for a name or an address, and its key. */
export async function makeCertificate(
  folder: string,
  name: string,
): Promise<{ certificate: string; key: string }> {
  const certificate = join(folder, "certificate.pem");
  const key = join(folder, "key.pem");
  await openssl([
    ...["req", "-x509", "-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:prime256v1", "-nodes"],
    ...["-keyout", key, "-out", certificate, "-days", "2"],
    ...["-subj", `/CN=${name}`, "-addext", alternativeName(name)],
  ]);
  return { certificate, key };
}

/** Writes an authority, and a certificate of its making for a name or an address. */
export async function makeSignedCertificate(
  folder: string,
  name: string,
): Promise<{ authority: string; certificate: string; key: string }> {
  const path = (file: string) => join(folder, `${name}-${file}.pem`);
  const [authority, certificate, key] = [path("authority"), path("certificate"), path("key")];
  const made = ["-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:prime256v1", "-nodes", "-days", "2"];
  await openssl([
    "req",
    "-x509",
    ...made,
    "-keyout",
    path("ca"),
    "-out",
    authority,
    "-subj",
    "/CN=Authority",
  ]);
  await openssl([
    ...["req", "-x509", ...made, "-keyout", key, "-out", certificate, "-subj", `/CN=${name}`],
    ...["-CA", authority, "-CAkey", path("ca"), "-addext", alternativeName(name)],
    ...["-addext", "basicConstraints=critical,CA:FALSE"],
  ]);
  return { authority, certificate, key };
}

function alternativeName(name: string): string {
  return `subjectAltName=${isIP(name) === 0 ? "DNS" : "IP"}:${name}`;
}

async function openssl(argv: string[]): Promise<void> {
  const child = Bun.spawn(["openssl", ...argv], { stderr: "pipe" });
  if ((await child.exited) !== 0) throw new Error(await child.stderr.text());
}
