import { mustParseAddress } from "../base/address.ts";
import type { GatewayError } from "../base/errors.ts";
import { exitMarkOf } from "../network/slot.ts";
import type { Host } from "../system/host.ts";
import { PKCS8, publicKeyIn, X25519 } from "../wireguard/webcrypto.ts";
import { refused } from "./refusals.ts";

/** What replaces the keys of a session, so that a recording of it cannot be read with a quantum computer. */
export interface EphemeralKeys {
  privateKey: string;
  presharedKey: string;
}

/** Where a server answers inside the tunnel: at all of Mullvad's the same. */
export const SERVICE = { address: mustParseAddress("10.64.0.1"), port: 1337 };
const PATH = "/ephemeralpeer.EphemeralPeer/RegisterPeerV1";
const ALGORITHM = "ML-KEM-1024";
/** Of FIPS 203, section 8, for ML-KEM-1024. */
const CIPHERTEXT_BYTES = 1_568;
/** As Mullvad's app waits (talpid-wireguard, ephemeral.rs): the first time, and at most, after doubling it each time. */
const ANSWERED_WITHIN_MS = { first: 8_000, most: 48_000 };

/** How long a server may take, after this many times in a row without an answer. */
export function patienceAfter(failures: number): number {
  return Math.min(ANSWERED_WITHIN_MS.first * 2 ** failures, ANSWERED_WITHIN_MS.most);
}

/**
 * Agrees with a server on ephemeral keys, inside the tunnel that `own` is the private key of. Nothing has changed at either end until the
 * first handshake with them. Throws `GatewayError`: `timed_out`, or `unable` if the server refuses or has no such
 * service.
 */
export async function ephemeralKeys(
  host: Pick<Host, "call">,
  { link, mark, own: parent }: { link: string; mark: number; own: string },
  withinMs: number,
  signal: AbortSignal,
): Promise<EphemeralKeys> {
  const [own, kem] = [await wireguardPair(), await kemPair()];
  const message = requestOf(Uint8Array.fromBase64(await publicKeyIn(parent)), own.publicKey, kem.publicKey);
  const way = { link, mark: exitMarkOf(mark), ...SERVICE };
  const answer = await host.call({ ...way, path: PATH, message, withinMs }, signal);
  return { privateKey: own.privateKey, presharedKey: await kem.secretIn(ciphertextIn(answer)) };
}

/** As `generateKeyPair` makes them, but beside the event loop: the first time it takes a tenth of a second. */
async function wireguardPair(): Promise<{ privateKey: string; publicKey: Uint8Array }> {
  const pair = (await crypto.subtle.generateKey(X25519, true, ["deriveBits"])) as CryptoKeyPair;
  const encoded = new Uint8Array(await crypto.subtle.exportKey("pkcs8", pair.privateKey));
  const privateKey = encoded.subarray(PKCS8.length).toBase64();
  encoded.fill(0);
  return { privateKey, publicKey: new Uint8Array(await crypto.subtle.exportKey("raw", pair.publicKey)) };
}

/**
 * Bun's own implementation, which is that of BoringSSL, and runs beside the event loop. TypeScript does not know it yet
 * (wicg.github.io/webcrypto-modern-algos).
 */
interface Kem {
  generateKey(name: string, extractable: boolean, usages: readonly string[]): Promise<CryptoKeyPair>;
  exportKey(format: string, key: CryptoKey): Promise<ArrayBuffer>;
  decapsulateBits(name: string, key: CryptoKey, ciphertext: Uint8Array): Promise<ArrayBuffer>;
}

async function kemPair() {
  const kem = crypto.subtle as unknown as Kem;
  const { publicKey, privateKey } = await kem.generateKey(ALGORITHM, false, [
    "encapsulateBits",
    "decapsulateBits",
  ]);
  return {
    publicKey: new Uint8Array(await kem.exportKey("raw-public", publicKey)),
    /** The only secret, so it is the preshared key: of several it would be their XOR. */
    secretIn: async (ciphertext: Uint8Array) => {
      const secret = new Uint8Array(await kem.decapsulateBits(ALGORITHM, privateKey, ciphertext));
      const text = secret.toBase64();
      secret.fill(0);
      return text;
    },
  };
}

/** `EphemeralPeerRequestV1`; both keys are WireGuard's. */
function requestOf(parent: Uint8Array, ephemeral: Uint8Array, kem: Uint8Array): Uint8Array {
  const offer = Buffer.concat([field(1, Buffer.from(ALGORITHM)), field(2, kem)]);
  return Buffer.concat([field(1, parent), field(2, ephemeral), field(3, field(1, offer))]);
}

/** The ciphertext in an `EphemeralPeerResponseV1`. */
function ciphertextIn(answer: Uint8Array): Uint8Array {
  const postQuantum = fieldsIn(answer).find(([number]) => number === 1)?.[1];
  const ciphertexts = fieldsIn(postQuantum ?? new Uint8Array()).filter(([number]) => number === 1);
  const [, ciphertext] = ciphertexts[0] ?? [];
  if (ciphertexts.length !== 1 || ciphertext?.length !== CIPHERTEXT_BYTES) throw unknownAnswer();
  return ciphertext;
}

/** The type of a field of protocol buffers that has a length (protobuf.dev/programming-guides/encoding). */
const WITH_LENGTH = 2;
/** More bytes than any length here needs. */
const MAX_VARINT_BYTES = 4;

function field(number: number, bytes: Uint8Array): Uint8Array {
  return Buffer.concat([varint((number << 3) | WITH_LENGTH), varint(bytes.length), bytes]);
}

function varint(value: number): Uint8Array {
  const bytes = [];
  for (let left = value; ; left >>= 7) {
    if (left < 0x80) return Uint8Array.from([...bytes, left]);
    bytes.push((left & 0x7f) | 0x80);
  }
}

/** The fields of a message that has only such fields. */
function fieldsIn(bytes: Uint8Array): [number: number, bytes: Uint8Array][] {
  const fields: [number, Uint8Array][] = [];
  let at = 0;
  const next = () => {
    for (let value = 0, count = 0; count < MAX_VARINT_BYTES; count++) {
      const byte = bytes[at++];
      if (byte === undefined) break;
      value |= (byte & 0x7f) << (7 * count);
      if (byte < 0x80) return value;
    }
    throw unknownAnswer();
  };
  while (at < bytes.length) {
    const key = next();
    const length = next();
    if ((key & 7) !== WITH_LENGTH || at + length > bytes.length) throw unknownAnswer();
    fields.push([key >> 3, bytes.subarray(at, at + length)]);
    at += length;
  }
  return fields;
}

function unknownAnswer(): GatewayError {
  return refused("answer_unclear", SERVICE);
}
