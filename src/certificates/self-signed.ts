import { BitString, Integer, OctetString, Utf8String } from "asn1js";
import {
  AttributeTypeAndValue,
  BasicConstraints,
  Certificate,
  Extension,
  ExtKeyUsage,
  GeneralName,
  GeneralNames,
  Time,
  TimeType,
} from "pkijs";
import { bytesOf, mustParseAddress } from "../base/address.ts";
import type { KeyedCertificate } from "./certificate.ts";
import type { GatewayNames } from "./names.ts";

const DAY_MS = 24 * 60 * 60 * 1000;
/** Browsers' clocks may be behind. */
const BACKDATED_MS = DAY_MS;
/** Some systems refuse certificates that are valid for more than 825 days. */
const VALID_MS = 800 * DAY_MS;
/** The longest common name that X.520 permits. */
const MAX_COMMON_NAME = 64;
const SERIAL_BYTES = 16;

const OID = {
  commonName: "2.5.4.3",
  keyUsage: "2.5.29.15",
  alternativeNames: "2.5.29.17",
  basicConstraints: "2.5.29.19",
  extendedKeyUsage: "2.5.29.37",
  serverAuthentication: "1.3.6.1.5.5.7.3.1",
};
/** RFC 5280, section 4.2.1.6. */
const DNS_NAME = 2;
const IP_ADDRESS = 7;

/** Makes a key on the curve P-256, and a certificate for these names that it signs itself. `now` is in milliseconds. */
export async function selfSigned(wanted: GatewayNames, now: number): Promise<KeyedCertificate> {
  const keys = await crypto.subtle.generateKey({ name: "ECDSA", namedCurve: "P-256" }, true, [
    "sign",
    "verify",
  ]);
  const certificate = new Certificate();
  // Version 3, the one with extensions.
  certificate.version = 2;
  certificate.serialNumber = new Integer({ valueHex: serialNumber() });
  const commonName = `Portcullis on ${wanted.names[0] ?? "this machine"}`.slice(0, MAX_COMMON_NAME);
  for (const name of [certificate.issuer, certificate.subject])
    name.typesAndValues.push(
      new AttributeTypeAndValue({ type: OID.commonName, value: new Utf8String({ value: commonName }) }),
    );
  certificate.notBefore = timeOf(now - BACKDATED_MS);
  certificate.notAfter = timeOf(now - BACKDATED_MS + VALID_MS);
  certificate.extensions = extensionsFor(wanted);
  await certificate.subjectPublicKeyInfo.importKey(keys.publicKey);
  await certificate.sign(keys.privateKey, "SHA-256");
  return {
    certificate: pem("CERTIFICATE", certificate.toSchema(true).toBER()),
    key: pem("PRIVATE KEY", await crypto.subtle.exportKey("pkcs8", keys.privateKey)),
  };
}

/** It cannot sign other certificates: whoever trusts it trusts this gateway only. */
function extensionsFor({ names, addresses }: GatewayNames): Extension[] {
  const alternatives = new GeneralNames({
    names: [
      ...names.map((value) => new GeneralName({ type: DNS_NAME, value })),
      ...addresses.map((each) => new GeneralName({ type: IP_ADDRESS, value: octetsOf(each) })),
    ],
  });
  const onlySigns = new BitString({ valueHex: new Uint8Array([0b1000_0000]).buffer, unusedBits: 7 });
  const extension = (extnID: string, critical: boolean, value: { toBER(): ArrayBuffer }) =>
    new Extension({ extnID, critical, extnValue: value.toBER() });
  return [
    extension(OID.alternativeNames, false, alternatives.toSchema()),
    extension(OID.basicConstraints, true, new BasicConstraints({ cA: false }).toSchema()),
    extension(OID.keyUsage, true, onlySigns),
    extension(
      OID.extendedKeyUsage,
      false,
      new ExtKeyUsage({ keyPurposes: [OID.serverAuthentication] }).toSchema(),
    ),
  ];
}

function octetsOf(address: string): OctetString {
  return new OctetString({ valueHex: new Uint8Array(bytesOf(mustParseAddress(address))).buffer });
}

/** RFC 5280, section 4.1.2.5: years from 2050 on have a form of their own. A clock might be that wrong. */
function timeOf(ms: number): Time {
  const value = new Date(ms);
  return new Time({
    type: value.getUTCFullYear() < 2050 ? TimeType.UTCTime : TimeType.GeneralizedTime,
    value,
  });
}

/** Positive, and always of the same length. */
function serialNumber(): ArrayBuffer {
  const bytes = crypto.getRandomValues(new Uint8Array(SERIAL_BYTES));
  bytes[0] = ((bytes[0] ?? 0) & 0x7f) | 0x40;
  return bytes.buffer;
}

function pem(label: string, bytes: ArrayBuffer): string {
  const text = new Uint8Array(bytes).toBase64().replaceAll(/.{64}(?=.)/g, "$&\n");
  return `-----BEGIN ${label}-----\n${text}\n-----END ${label}-----\n`;
}
