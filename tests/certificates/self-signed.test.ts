import { expect, test } from "bun:test";
import { createPrivateKey, X509Certificate } from "node:crypto";
import { factsOf } from "../../src/certificates/certificate.ts";
import { areCovered, gatewayNames } from "../../src/certificates/names.ts";
import { selfSigned } from "../../src/certificates/self-signed.ts";
import { NO_NETWORK } from "../../src/network/host-network.ts";
import { cidrs, ip } from "../fake/address.ts";

const NOW = Date.parse("2026-03-01T12:00:00Z");
const NETWORK = {
  ...NO_NETWORK,
  lans: [{ interface: "lan0", prefixes: cidrs("192.168.7.0/24", "fd00::/64") }],
  addresses: [ip("fd00::2"), ip("192.168.7.2"), ip("203.0.113.9")],
};
const NAMES = gatewayNames("Gateway", ["vpn.home.example", "odd_name", "pi.local"], NETWORK);

test("a certificate is for the gateway's names and addresses on the LAN, not for those of the uplink", () => {
  expect(NAMES).toEqual({
    names: [
      "gateway",
      "gateway.local",
      "vpn.home.example",
      "vpn.home.example.local",
      "pi.local",
      "portcullis",
      "portcullis.home.arpa",
      "localhost",
    ],
    addresses: ["192.168.7.2", "fd00::2", "127.0.0.1", "::1"].map(ip),
  });
});

test("OpenSSL reads all that a certificate says, and verifies it by itself", async () => {
  const made = await selfSigned(NAMES, NOW);
  const text = await openssl(["x509", "-noout", "-text", "-nameopt", "RFC2253"], made.certificate);
  const [, alternatives] = /Subject Alternative Name: ?\n\s+(.*)\n/.exec(text) ?? [];
  expect(alternatives?.split(", ")).toEqual([
    ...NAMES.names.map((name) => `DNS:${name}`),
    ...["192.168.7.2", "FD00:0:0:0:0:0:0:2", "127.0.0.1", "0:0:0:0:0:0:0:1"].map(
      (each) => `IP Address:${each}`,
    ),
  ]);
  for (const line of [
    "Version: 3 (0x2)",
    "Signature Algorithm: ecdsa-with-SHA256",
    "NIST CURVE: P-256",
    "Issuer: CN=Portcullis on gateway",
    "Subject: CN=Portcullis on gateway",
    "Not Before: Feb 28 12:00:00 2026 GMT",
    "Not After : May  8 12:00:00 2028 GMT",
  ])
    expect(text).toContain(line);
  expect(text).toMatch(/Basic Constraints: critical\s+CA:FALSE/);
  expect(text).toMatch(/Key Usage: critical\s+Digital Signature\n/);
  expect(text).toMatch(/Extended Key Usage: ?\s+TLS Web Server Authentication\n/);
  const path = `/tmp/portcullis-certificate-${process.pid}.pem`;
  await Bun.write(path, made.certificate);
  const verify = [
    "verify",
    "-attime",
    `${NOW / 1000}`,
    "-CAfile",
    path,
    "-verify_hostname",
    "gateway.local",
    path,
  ];
  expect(await openssl(verify)).toEndWith("OK\n");
  await Bun.file(path).delete();
});

test("the facts are those of OpenSSL, and the key is the certificate's", async () => {
  const made = await selfSigned(NAMES, NOW);
  const facts = factsOf(made.certificate);
  const [, fingerprint] = (
    await openssl(["x509", "-noout", "-fingerprint", "-sha256"], made.certificate)
  ).split("=");
  expect(facts.fingerprint).toBe(fingerprint?.trim() ?? "");
  expect(areCovered(NAMES, facts.names)).toBe(true);
  expect([facts.notBefore, facts.notAfter].map((each) => new Date(each).toISOString())).toEqual([
    "2026-02-28T12:00:00.000Z",
    "2028-05-08T12:00:00.000Z",
  ]);
  expect(new X509Certificate(made.certificate).checkPrivateKey(createPrivateKey(made.key))).toBe(true);
});

test("browsers that refuse more than 825 days accept it, and no two have a key or a number in common", async () => {
  const [one, other] = await Promise.all([selfSigned(NAMES, NOW), selfSigned(NAMES, NOW)]);
  const { notBefore, notAfter } = factsOf(one.certificate);
  expect((notAfter - notBefore) / 86_400_000).toBeLessThan(825);
  expect(one.key).not.toBe(other.key);
  const numberOf = (pem: string) => new X509Certificate(pem).serialNumber;
  expect(numberOf(one.certificate)).not.toBe(numberOf(other.certificate));
});

test.each([
  ["1970-01-01T00:00:00Z", "Not Before: Dec 31 00:00:00 1969 GMT"],
  ["2048-06-01T00:00:00Z", "Not After : Aug  9 00:00:00 2050 GMT"],
  ["2106-02-07T00:00:00Z", "Not Before: Feb  6 00:00:00 2106 GMT"],
])("a clock that stands at %s gets a certificate too", async (clock, line) => {
  const { certificate } = await selfSigned(NAMES, Date.parse(clock));
  expect(await openssl(["x509", "-noout", "-text"], certificate)).toContain(line);
  expect(factsOf(certificate).notAfter - Date.parse(clock)).toBe(799 * 86_400_000);
});

test("a name or an IPv4 address that is missing counts, an IPv6 address does not", () => {
  const known = ["GATEWAY", "localhost", "192.168.7.2"];
  const covered = (names: string[], addresses: string[]) =>
    areCovered({ names, addresses: addresses.map(ip) }, known);
  expect(covered(["gateway", "localhost"], ["192.168.7.2", "fd00::7"])).toBe(true);
  expect(covered(["gateway", "other"], [])).toBe(false);
  expect(covered(["gateway"], ["192.168.7.3"])).toBe(false);
});

async function openssl(argv: string[], stdin = ""): Promise<string> {
  const child = Bun.spawn(["openssl", ...argv], { stdin: Buffer.from(stdin), stderr: "pipe" });
  const [text, fault] = await Promise.all([child.stdout.text(), child.stderr.text()]);
  if ((await child.exited) !== 0) throw new Error(fault);
  return text;
}
