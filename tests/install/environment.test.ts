import { expect, test } from "bun:test";
import fc from "fast-check";
import {
  environmentWith,
  type GivenSettings,
  givenIn,
  INSTALLABLE,
  interfaceIn,
  settingsWith,
} from "../../src/install/environment.ts";
import { slow } from "../fast.ts";

slow.test("given settings are read back from the file, whatever it contained before", () => {
  const value = fc.stringMatching(/^[A-Za-z0-9_.,:/@%+ -]{0,30}$/).map((text) => text.trim());
  const given = fc.dictionary(fc.constantFrom(...INSTALLABLE), value) as fc.Arbitrary<GivenSettings>;
  fc.assert(
    fc.property(given, given, (first, second) => {
      const text = environmentWith(environmentWith(null, first), second);
      expect(givenIn(text)).toEqual({ ...first, ...second });
      expect(environmentWith(text, second)).toBe(text);
    }),
  );
});

test("a new file lists every setting, commented out", () => {
  const text = environmentWith(null, {});
  expect(givenIn(text)).toEqual({});
  expect(text).toContain("# port of the HTTP interface\n#PORTCULLIS_PORT=5000\n");
});

test("lines that a person wrote into the file stay", () => {
  expect(environmentWith("# mine\nOTHER=1\nPORTCULLIS_PORT=80\n", { port: "81", lan: "eth0" })).toBe(
    "# mine\nOTHER=1\nPORTCULLIS_PORT=81\nPORTCULLIS_LAN=eth0\n",
  );
});

test("a value that systemd would read differently is refused, and the message names the flag", () => {
  for (const host of ['"', "a\nPORTCULLIS_LAN=x", "$HOME", "a\\b", "\0"]) {
    expect(() => environmentWith(null, { host })).toThrow("--host: quotes");
  }
});

test("a file is read as systemd reads it: spaces, both kinds of quotes, and the last of several lines", () => {
  const text =
    "PORTCULLIS_PORT=1\n  PORTCULLIS_PORT = '80' \n#PORTCULLIS_PORT=2\nPORTCULLIS_LAN=\"eth0, eth1\"\n";
  expect(givenIn(text)).toEqual({ port: "80", lan: "eth0, eth1" });
});

test("a line replaces all lines of its variable, and comments stay", () => {
  const text = "#PORTCULLIS_PORT=5000\nPORTCULLIS_PORT=80\nOTHER=1\n PORTCULLIS_PORT='81'\n";
  expect(environmentWith(text, { port: "82" })).toBe("#PORTCULLIS_PORT=5000\nPORTCULLIS_PORT=82\nOTHER=1\n");
});

test("an error in the file names the file, and a flag overrides it", () => {
  const file = { port: "many" };
  expect(() => settingsWith(file, {})).toThrow("in /etc/portcullis/portcullis.env: --port (PORTCULLIS_PORT)");
  expect(() => settingsWith(file, { lan: "no name" })).toThrow(/^--lan/);
  expect(settingsWith(file, { port: "80" }).port).toBe(80);
});

test("the tunnel's interfaces are found in spite of errors in the file", () => {
  expect(interfaceIn("PORTCULLIS_PORT=many\nPORTCULLIS_INTERFACE=wall\n")).toBe("wall");
  expect(interfaceIn("PORTCULLIS_INTERFACE='no name'\n")).toBe("portcullis");
  expect(interfaceIn("")).toBe("portcullis");
});
