import { afterAll, expect, test } from "bun:test";
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { certificateIn } from "../../src/certificates/given-files.ts";
import { LinuxHost } from "../../src/system/linux.ts";
import { makeCertificate, makeSignedCertificate } from "../system/certificate.ts";

const folder = mkdtempSync(join(tmpdir(), "portcullis-files-"));
afterAll(() => rmSync(folder, { recursive: true }));
const host = new LinuxHost();
const { certificate, key } = await makeCertificate(folder, "gateway.example");
const refusal = (files: Partial<{ certificate: string; key: string }>) =>
  certificateIn({ certificate, key, ...files }, host).then(
    () => "",
    (error: Error) => error.message,
  );
const written = (name: string, text: string) => {
  writeFileSync(join(folder, name), text);
  return join(folder, name);
};

test("the texts of two files that belong together, with the certificates of authorities", async () => {
  const signed = await makeSignedCertificate(folder, "other.example");
  const chain = readFileSync(signed.certificate, "utf8") + readFileSync(signed.authority, "utf8");
  const files = { certificate: written("chain.pem", chain), key: signed.key };
  expect(await certificateIn(files, host)).toEqual({
    certificate: chain,
    key: readFileSync(signed.key, "utf8"),
  });
});

test("what is wrong with which file is said, and nothing of its content", async () => {
  const missing = join(folder, "missing.pem");
  const text = written("text.pem", "SECRET text");
  const large = written("large.pem", "x".repeat(70_000));
  const other = (await makeSignedCertificate(folder, "third.example")).key;
  const locked = written(
    "locked.pem",
    readFileSync(key, "utf8").replaceAll("PRIVATE KEY", "ENCRYPTED PRIVATE KEY"),
  );
  expect(await refusal({})).toBe("");
  expect(await refusal({ certificate: missing })).toBe(
    `--https-cert: there is no file ${missing}, or it cannot be read`,
  );
  expect(await refusal({ key: folder })).toBe(
    `--https-key: there is no file ${folder}, or it cannot be read`,
  );
  expect(await refusal({ certificate: text })).toBe(`--https-cert: ${text} is not a certificate in PEM`);
  expect(await refusal({ certificate: key })).toBe(`--https-cert: ${key} is not a certificate in PEM`);
  expect(await refusal({ key: text })).toBe(`--https-key: ${text} is not a private key in PEM`);
  expect(await refusal({ key: certificate })).toBe(`--https-key: ${certificate} is not a private key in PEM`);
  expect(await refusal({ certificate: large })).toBe(`--https-cert: ${large} has more than 65536 bytes`);
  expect(await refusal({ key: other })).toBe(
    `--https-key: ${other} is not the key of the certificate in ${certificate}`,
  );
  expect(await refusal({ key: locked })).toBe(
    `--https-key: ${locked} has a passphrase, and the gateway needs the key without one`,
  );
});
