import { type ScryptOptions, scrypt } from "node:crypto";
import { promisify } from "node:util";
import { type Static, Type } from "typebox";
import { Value } from "typebox/value";
import { jsonIn } from "../base/checker.ts";
import { objectOf } from "../base/object.ts";
import { refused } from "./refusals.ts";

/**
 * Each guess of a passphrase costs 128 MiB and about 0.4 s on a PC, a few seconds on a Pi (OWASP Password Storage Cheat
 * Sheet, the first choice for scrypt).
 */
const KDF = { name: "scrypt", N: 131_072, r: 8, p: 1 } as const;
/** NIST SP 800-38D, section 5.2.1.1: the recommended nonce for AES-GCM. */
const NONCE_BYTES = 12;
const SALT_BYTES = 16;

const FORMAT = "portcullis-backup";
const VERSION = 1;
/** Part of the format, so it cannot change. */
const WARNING = "This file holds private keys in plain text: whoever reads it can use your VPN accounts.";

const Encrypted = objectOf({
  format: Type.Literal(FORMAT),
  version: Type.Literal(VERSION),
  keys: Type.Literal("encrypted"),
  kdf: objectOf({
    name: Type.Literal(KDF.name),
    N: Type.Literal(KDF.N),
    r: Type.Literal(KDF.r),
    p: Type.Literal(KDF.p),
    salt: Type.String(),
  }),
  cipher: objectOf({ name: Type.Literal("AES-256-GCM"), nonce: Type.String() }),
  data: Type.String(),
});
type Encrypted = Static<typeof Encrypted>;

const Plain = objectOf({
  warning: Type.Literal(WARNING),
  format: Type.Literal(FORMAT),
  version: Type.Literal(VERSION),
  keys: Type.Literal("plain"),
  /** A checksum of the contents: a key with one wrong character would still look like a key. */
  sha256: Type.String(),
  contents: Type.Unknown(),
});

/** The text of a backup that can only be read with the passphrase; any change to it is detected. */
export async function encrypted(contents: object, passphrase: string): Promise<string> {
  const salt = crypto.getRandomValues(new Uint8Array(SALT_BYTES));
  const nonce = crypto.getRandomValues(new Uint8Array(NONCE_BYTES));
  const header = headerOf(salt.toBase64(), nonce.toBase64());
  const data = await crypto.subtle.encrypt(
    { name: "AES-GCM", iv: nonce, additionalData: bytesOf(JSON.stringify(header)) },
    await keyFor(passphrase, salt),
    bytesOf(JSON.stringify(contents)),
  );
  return textOf({ ...header, data: new Uint8Array(data).toBase64() });
}

/** The text of a backup that anyone can read; its first line says so. */
export function plain(contents: object): string {
  const sha256 = digestOf(contents);
  return textOf({ warning: WARNING, format: FORMAT, version: VERSION, keys: "plain", sha256, contents });
}

/** The contents of a backup; calls `passphrase` only if it is encrypted. */
export async function opened(
  text: string,
  passphrase: () => Promise<string>,
  derive: typeof keyFor = keyFor,
): Promise<unknown> {
  return openedFrom(jsonIn(text), passphrase, jsonIn, derive);
}

/** The same from a backup that has been parsed; `parse` is for what is inside one that is encrypted. */
export async function openedFrom(
  given: unknown,
  passphrase: () => Promise<string>,
  parse: (text: string) => unknown = jsonIn,
  derive: typeof keyFor = keyFor,
): Promise<unknown> {
  const envelope = envelopeOf(given);
  if (Value.Check(Encrypted, envelope)) return parse(await decrypted(envelope, await passphrase(), derive));
  if (Value.Check(Plain, envelope) && envelope.sha256 === digestOf(envelope.contents))
    return envelope.contents;
  throw refused("backup_damaged");
}

async function decrypted(
  { kdf, cipher, data }: Encrypted,
  passphrase: string,
  derive: typeof keyFor,
): Promise<string> {
  try {
    const header = headerOf(kdf.salt, cipher.nonce);
    const text = await crypto.subtle.decrypt(
      { name: "AES-GCM", iv: bytesIn(cipher.nonce), additionalData: bytesOf(JSON.stringify(header)) },
      await derive(passphrase, bytesIn(kdf.salt)),
      bytesIn(data),
    );
    return new TextDecoder().decode(text);
  } catch (cause) {
    // AES-GCM cannot tell these apart.
    throw refused("passphrase_wrong", {}, { cause });
  }
}

function envelopeOf(envelope: unknown): unknown {
  const { format, version } = (envelope ?? {}) as { format?: unknown; version?: unknown };
  if (format !== FORMAT) throw refused("backup_foreign");
  if (version !== VERSION) throw refused("backup_newer");
  return envelope;
}

/** The part that is not secret; it is authenticated too, in exactly this order. */
function headerOf(salt: string, nonce: string): Omit<Encrypted, "data"> {
  return {
    format: FORMAT,
    version: VERSION,
    keys: "encrypted",
    kdf: { ...KDF, salt },
    cipher: { name: "AES-256-GCM", nonce },
  };
}

const derived = promisify(
  scrypt as (
    passphrase: string,
    salt: Uint8Array,
    bytes: number,
    options: ScryptOptions,
    done: (error: Error | null, key: Buffer) => void,
  ) => void,
);

/** Keyboards produce accented letters in more than one Unicode form. A thread does the work: the service goes on. */
export async function keyFor(passphrase: string, salt: Uint8Array): Promise<CryptoKey> {
  const { N, r, p } = KDF;
  const key = await derived(passphrase.normalize("NFC"), salt, 32, { N, r, p, maxmem: 256 * N * r });
  return crypto.subtle.importKey("raw", Uint8Array.from(key), "AES-GCM", false, ["encrypt", "decrypt"]);
}

function digestOf(contents: unknown): string {
  return new Bun.CryptoHasher("sha256").update(JSON.stringify(contents)).digest("hex");
}

function textOf(envelope: object): string {
  return `${JSON.stringify(envelope, null, 1)}\n`;
}

function bytesOf(text: string): Uint8Array<ArrayBuffer> {
  return new TextEncoder().encode(text);
}

function bytesIn(base64: string): Uint8Array<ArrayBuffer> {
  return Uint8Array.fromBase64(base64, { lastChunkHandling: "strict" });
}
