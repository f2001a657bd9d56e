import { expect } from "bun:test";
import fc from "fast-check";
import { Check } from "typebox/value";
import { GatewayError } from "../../src/base/errors.ts";
import { parseConfig } from "../../src/wireguard/config.ts";
import { formatConfig } from "../../src/wireguard/config-text.ts";
import { Config } from "../../src/wireguard/schema.ts";
import { runs, sampled } from "../fast.ts";
import { config, key } from "./arbitrary.ts";

const { test } = sampled;

test("a configuration that is written and read again is the same", () => {
  fc.assert(
    fc.property(config, (made) => {
      expect(parseConfig(formatConfig(made)).config).toEqual(made);
      expect(Check(Config, made)).toBeTrue();
    }),
    { numRuns: runs(200) },
  );
}, 180_000);

const WORDS =
  "[Interface] [Peer] PrivateKey Address DNS MTU PublicKey PresharedKey Endpoint AllowedIPs " +
  "PersistentKeepalive Table FwMark ListenPort SaveConfig PostUp Jc S4 H1 I1 # = ,";
const name = fc.constantFrom(...WORDS.split(" "));
const scrap = fc.oneof(
  name,
  key,
  fc.constantFrom(
    "\n",
    "\r\n",
    "\r",
    "\0",
    " = ",
    "\t",
    ",",
    "/",
    ":",
    "\uFEFF",
    "off",
    "10.0.0.1/8",
    "::/0",
    "1.2.3.4:5",
  ),
  fc.string({ unit: "binary", maxLength: 12 }),
);

/** Files of almost the right form, and valid files with one scrap in the middle. */
const text = fc.oneof(
  fc.array(scrap, { maxLength: 60 }).map((scraps) => scraps.join("")),
  fc
    .array(fc.tuple(name, scrap).map(([left, right]) => `${left} = ${right}`))
    .map((lines) => lines.join("\n")),
  fc.tuple(config, fc.nat(), fc.nat(8), scrap).map(([made, at, length, inserted]) => {
    const good = formatConfig(made);
    const start = at % good.length;
    return good.slice(0, start) + inserted + good.slice(start + length);
  }),
);

test("any text is either a valid configuration or a bad request", () => {
  fc.assert(
    fc.property(text, (given) => {
      const result = attempt(given);
      if (typeof result !== "string") {
        expect(Check(Config, result)).toBeTrue();
        expect(parseConfig(formatConfig(result)).config).toEqual(result);
      }
    }),
    { numRuns: runs(2000) },
  );
}, 180_000);

test("no message contains a key from the text", () => {
  fc.assert(
    fc.property(text, (given) => {
      const result = attempt(given);
      if (typeof result !== "string") return;
      for (const secret of given.match(/[A-Za-z0-9+/]{43}=?/g) ?? []) {
        for (let at = 0; at + 8 <= secret.length; at++) {
          const part = secret.slice(at, at + 8);
          if (!WORDS.includes(part)) expect(result).not.toContain(part);
        }
      }
    }),
    { numRuns: runs(2000) },
  );
}, 180_000);

function attempt(given: string): Config | string {
  try {
    return parseConfig(given).config;
  } catch (error) {
    expect(error).toBeInstanceOf(GatewayError);
    expect((error as GatewayError).code).toBe("bad_request");
    return (error as GatewayError).message;
  }
}
