import { expect, test } from "bun:test";
import { entriesIn } from "../../src/dns/list-text.ts";

const folder = new URL("lists/", import.meta.url);

for (const format of ["hosts", "names", "adblock", "dnsmasq", "rpz"])
  test(`every line of a list in the format ${format} means what its document says`, async () => {
    const reading = { skipped: 0 };
    const read = async (ending: string) => Bun.file(new URL(`${format}.${ending}`, folder)).text();
    const entries = [...entriesIn(await read("txt"), reading)].flatMap((entry) => entry ?? []);
    const lines = entries.map(
      ({ verdict, name, isVoid }) => `${verdict}${isVoid ? ", void" : ""}: ${name}\n`,
    );
    expect(`${lines.join("")}${reading.skipped} not understood\n`).toBe(await read("golden"));
  });
