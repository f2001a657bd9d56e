import { expect, test } from "bun:test";
import { entriesOf, isZip, ZipError } from "../../src/shared/zip.ts";
import { ARCHIVES, CONFIG } from "../cli/archives.ts";

const MAX_BYTES = 65_536;

/** The texts of the entries, or what is wrong with an entry. */
function opened(zip: Uint8Array): Promise<[name: string, text: string][]> {
  const open = async ({ name, open }: ReturnType<typeof entriesOf>[number]): Promise<[string, string]> => [
    name,
    await open().then(
      (bytes) => new TextDecoder().decode(bytes),
      (error: Error) => error.message,
    ),
  ];
  return Promise.all(entriesOf(zip, MAX_BYTES).map(open));
}

test("deflated and stored files are unpacked, under their names", async () => {
  expect(await opened(ARCHIVES.deflated)).toEqual([
    ["servers/", ""],
    ["servers/se-1.conf", CONFIG],
    ["servers/nø-2.conf", CONFIG],
    ["servers/readme.txt", "hello"],
  ]);
  expect(await opened(ARCHIVES.stored)).toEqual([["se-3.conf", CONFIG]]);
});

test("a configuration and a text are no archives", () => {
  const isOne = (text: string) => isZip(new TextEncoder().encode(text));
  expect([isOne(CONFIG), isOne(""), isOne("PK"), isZip(ARCHIVES.stored)]).toEqual([
    false,
    false,
    false,
    true,
  ]);
});

test("what is larger than a configuration is not unpacked, whatever size the archive claims", async () => {
  expect(await opened(ARCHIVES.large)).toEqual([["large.conf", "large"]]);
  const lying = ARCHIVES.large.slice();
  new DataView(lying.buffer).setUint32(Buffer.from(lying).indexOf("PK\x01\x02") + 24, 10, true);
  expect(await opened(lying)).toEqual([["large.conf", "large"]]);
});

test("an entry that claims more compressed bytes than a configuration has is not even copied", async () => {
  const name = "x.conf";
  const central = Buffer.alloc(46 + name.length);
  central.write("PK\x01\x02", "latin1");
  central.writeUInt16LE(8, 10);
  central.writeUInt32LE(10_000_000, 20);
  central.writeUInt16LE(name.length, 28);
  central.write(name, 46);
  const end = Buffer.alloc(22);
  end.write("PK\x05\x06", "latin1");
  end.writeUInt16LE(1, 10);
  expect(await opened(Buffer.concat([central, end]))).toEqual([[name, "large"]]);
});

test("an encrypted file and an unsupported compression are named as what they are", async () => {
  const altered = (field: number, value: number) => {
    const zip = ARCHIVES.stored.slice();
    new DataView(zip.buffer).setUint16(Buffer.from(zip).indexOf("PK\x01\x02") + field, value, true);
    return opened(zip);
  };
  expect(await altered(8, 1)).toEqual([["se-3.conf", "encrypted"]]);
  expect(await altered(10, 14)).toEqual([["se-3.conf", "compression"]]);
});

test("an archive that was cut off or altered anywhere is refused as damaged, or its files are as they were", async () => {
  const good = [CONFIG, "hello", "", "damaged", "encrypted", "compression", "large"];
  const isRight = async (zip: Uint8Array) => {
    try {
      return (await opened(zip)).every(([, text]) => good.includes(text));
    } catch (error) {
      return error instanceof ZipError && error.fault === "damaged";
    }
  };
  for (let length = 0; length < ARCHIVES.deflated.length; length += 7)
    expect({ length, right: await isRight(ARCHIVES.deflated.subarray(0, length)) }).toEqual({
      length,
      right: true,
    });
  for (let at = 0; at < ARCHIVES.deflated.length; at += 3) {
    const zip = ARCHIVES.deflated.slice();
    zip[at] = (zip[at] ?? 0) ^ 0xff;
    expect({ at, right: await isRight(zip) }).toEqual({ at, right: true });
  }
});
