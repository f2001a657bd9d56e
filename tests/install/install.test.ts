import { expect, test } from "bun:test";
import { closingWords } from "../../src/install/install.ts";

const STANDS = { stands: true, firewall: true, routing: true, direct: 0, parts: [] };
const OFF = { stands: false, firewall: false, routing: false, direct: 0, parts: [] };

test("the closing words say that the kill switch is in place only if it is", () => {
  expect(closingWords(STANDS, { port: 5000 })).toContain(
    "the kill switch is in place, now and from the start",
  );
  const off = closingWords(OFF, { port: 5000 });
  expect(off).toContain("the kill switch is off");
  expect(off).not.toMatch(/in place|Nothing reaches/);
});

test("if the port is not the default, the closing words say how the commands find it", () => {
  expect(closingWords(STANDS, { port: 5000 })).not.toContain("PORTCULLIS_URL");
  expect(closingWords(STANDS, { port: 8080 })).toContain("export PORTCULLIS_URL=http://127.0.0.1:8080\n");
});
