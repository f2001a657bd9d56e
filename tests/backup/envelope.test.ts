import { describe, expect, setDefaultTimeout, test } from "bun:test";
import { encrypted, keyFor, opened, plain } from "../../src/backup/envelope.ts";
import { GatewayError } from "../../src/base/errors.ts";
import { slow } from "../fast.ts";
import { PRIVATE } from "../servers/example.ts";

// Each passphrase takes half a second to try, and ten times that on a busy machine.
setDefaultTimeout(120_000);

const CONTENTS = { created: "2026-01-02T03:04:05.006Z", servers: [{ key: PRIVATE }], settings: { a: "ü" } };
const PASSPHRASE = "correct horse battery";

const NO_BACKUP = new GatewayError("unable", "this is not a Portcullis backup, or it is damaged");
const NEWER = new GatewayError(
  "unable",
  "the backup was made by a newer Portcullis, or it is damaged; nothing was changed",
);
const DAMAGED = new GatewayError("unable", "the backup is damaged; nothing was changed");
const WRONG = new GatewayError("unable", "wrong passphrase, or the backup was altered; nothing was changed");

const TEXT = await encrypted(CONTENTS, PASSPHRASE);
const PLAIN = plain(CONTENTS);

/** Those of the right passphrase are derived once for each salt: an altered backup has the salt of the whole one. */
const keys = new Map<string, ReturnType<typeof keyFor>>();
const derive: typeof keyFor = (passphrase, salt) => {
  const name = `${passphrase} ${salt.toBase64()}`;
  const key = keys.get(name) ?? keyFor(passphrase, salt);
  keys.set(name, key);
  return key;
};
const open = (text: string, passphrase = PASSPHRASE) => opened(text, async () => passphrase, derive);
const unasked = (text: string) =>
  opened(text, () => {
    throw new Error("nobody is to be asked");
  });

/** The envelope with another value of one field, given by a dotted path; undefined removes the field. */
function altered(text: string, path: string, to: (value: string) => unknown): string {
  const envelope = JSON.parse(text);
  const [first = "", second] = path.split(".");
  const [object, key] = second === undefined ? [envelope, first] : [envelope[first], second];
  object[key] = to(object[key]);
  return JSON.stringify(envelope);
}

/** Changes one byte in base64; a negative place counts from the end. */
function flipped(base64: string, at: number): string {
  const bytes = Uint8Array.fromBase64(base64);
  const index = (at + bytes.length) % bytes.length;
  bytes[index] = (bytes[index] ?? 0) ^ 1;
  return bytes.toBase64();
}

function cut(base64: string, length: number): string {
  return Uint8Array.fromBase64(base64).subarray(0, length).toBase64();
}

slow.describe("an encrypted backup", () => {
  test("opens with its passphrase, however the keyboard encodes an accent", async () => {
    expect(await open(TEXT)).toEqual(CONTENTS);
    const accented = await encrypted(CONTENTS, "caf\u00e9 au lait");
    expect(await open(accented, "cafe\u0301 au lait")).toEqual(CONTENTS);
  });

  test("reveals nothing of its contents, and differs each time", async () => {
    expect(TEXT).not.toContain(PRIVATE);
    const [one, two] = [JSON.parse(TEXT), JSON.parse(await encrypted(CONTENTS, PASSPHRASE))];
    expect(one.kdf.salt).not.toBe(two.kdf.salt);
    expect(one.cipher.nonce).not.toBe(two.cipher.nonce);
    expect(one.data).not.toBe(two.data);
  });

  test.each(["", "correct horse", "Correct horse battery", "correct horse battery "])(
    "does not open with the wrong passphrase %j",
    (passphrase) => expect(open(TEXT, passphrase)).rejects.toThrow(WRONG),
  );

  test("that is truncated anywhere is refused, without asking for a passphrase", async () => {
    const whole = TEXT.trimEnd().length;
    for (let length = 0; length < whole; length += 1)
      await expect(unasked(TEXT.slice(0, length))).rejects.toThrow(NO_BACKUP);
  });

  test.each([0, 1, 15, 16, 17, -1])("whose data is truncated to %i bytes does not open", (length) => {
    const text = altered(TEXT, "data", (data) => cut(data, length));
    return expect(open(text)).rejects.toThrow(WRONG);
  });

  test.each<[region: string, path: string, to: (value: string) => string]>([
    ["the salt", "kdf.salt", (salt) => flipped(salt, 3)],
    ["the nonce", "cipher.nonce", (nonce) => flipped(nonce, 5)],
    ["the data's first byte", "data", (data) => flipped(data, 0)],
    ["the data's middle", "data", (data) => flipped(data, 40)],
    ["the authentication tag", "data", (data) => flipped(data, -1)],
    ["the data, which is no base64", "data", (data) => `!${data.slice(1)}`],
    ["the salt, spelled in another way", "kdf.salt", (salt) => salt.replaceAll("=", "")],
  ])("does not open with another byte in %s", (_, path, to) =>
    expect(open(altered(TEXT, path, to))).rejects.toThrow(WRONG),
  );

  test.each([
    ["a cheaper key derivation", "kdf.N", 2],
    ["a dearer key derivation", "kdf.N", 2 ** 30],
    ["another key derivation", "kdf.name", "md5"],
    ["another cipher", "cipher.name", "AES-256-CTR"],
    ["keys of another kind", "keys", "plain"],
    ["no data", "data", undefined],
    ["a field that nobody knows", "more", 1],
  ])("with %s is damaged, and no passphrase is asked for", (_, path, value) =>
    expect(unasked(altered(TEXT, path, () => value))).rejects.toThrow(DAMAGED),
  );
});

describe("a backup in plain text", () => {
  test("opens, and its first line says what it is", async () => {
    expect(await unasked(PLAIN)).toEqual(CONTENTS);
    expect(PLAIN.split("\n")[1]).toContain("private keys in plain text");
  });

  test("that is truncated anywhere is refused", async () => {
    const whole = PLAIN.trimEnd().length;
    for (let length = 0; length < whole; length += 1)
      await expect(unasked(PLAIN.slice(0, length))).rejects.toThrow(NO_BACKUP);
  });

  test("with a changed byte anywhere is refused, or means the same", async () => {
    for (let at = 0; at < PLAIN.length; at += 1) {
      const other = String.fromCharCode(PLAIN.charCodeAt(at) ^ 1);
      const outcome = await unasked(PLAIN.slice(0, at) + other + PLAIN.slice(at + 1)).catch((error) => error);
      if (outcome instanceof Error)
        expect([NO_BACKUP, NEWER, DAMAGED].map(String)).toContain(String(outcome));
      else expect(outcome).toEqual(CONTENTS);
    }
  });
});

test.each([0, 2, "1", null, undefined])("a backup of version %p is refused", async (version) => {
  for (const text of [TEXT, PLAIN]) {
    await expect(unasked(altered(text, "version", () => version))).rejects.toThrow(NEWER);
  }
});

test.each(["", "null", "[]", "1", '"portcullis-backup"', "PK\x03\x04", "[Interface]\n"])(
  "%j is not a backup",
  (text) => expect(unasked(text)).rejects.toThrow(NO_BACKUP),
);
