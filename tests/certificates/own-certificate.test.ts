import { expect, test } from "bun:test";
import { createSecureContext } from "node:tls";
import type { Address } from "../../src/base/address.ts";
import { GatewayError } from "../../src/base/errors.ts";
import { factsOf } from "../../src/certificates/certificate.ts";
import { OwnCertificate } from "../../src/certificates/own-certificate.ts";
import { ip } from "../fake/address.ts";

const DAY_MS = 86_400_000;
const NOW = Date.parse("2026-03-01T12:00:00Z");
const NAMES = { names: ["gateway"], addresses: [ip("192.168.7.2")] as Address[] };

class Texts {
  readonly kept = new Map<string, string>();
  scrubbed = 0;
  isFull = false;
  read = (key: string) => this.kept.get(key) ?? null;
  write = (key: string, text: string) => {
    if (this.isFull)
      throw new GatewayError("storage_full", "The database could not be written: the disk is full.");
    this.kept.set(key, text);
  };
  scrub = () => void this.scrubbed++;
}

function certificateOn(store: Texts, lines: string[] = []) {
  return new OwnCertificate({ store, log: { warn: (line) => void lines.push(line) } });
}

test("a certificate is made once, and kept over restarts", async () => {
  const store = new Texts();
  const made = await certificateOn(store).current(NAMES, NOW);
  expect(await certificateOn(store).current(NAMES, NOW + 700 * DAY_MS)).toEqual(made);
  expect(store.kept.get("https_certificate")).toBe(JSON.stringify(made));
});

test("a month before its end there is another, with another key, and the former key is scrubbed", async () => {
  const store = new Texts();
  const own = certificateOn(store);
  const made = await own.current(NAMES, NOW);
  const scrubbed = store.scrubbed;
  const { notAfter } = factsOf(made.certificate);
  expect(await own.current(NAMES, notAfter - 31 * DAY_MS)).toBe(made);
  const next = await own.current(NAMES, notAfter - 29 * DAY_MS);
  expect(next.key).not.toBe(made.key);
  expect(factsOf(next.certificate).notAfter).toBeGreaterThan(notAfter + 700 * DAY_MS);
  expect(store.scrubbed).toBe(scrubbed + 1);
  expect([...store.kept.values()].join()).not.toContain(JSON.stringify(made.key).slice(40, 100));
});

test("a new name or address needs another certificate; one that is gone does not", async () => {
  const own = certificateOn(new Texts());
  const made = await own.current(NAMES, NOW);
  expect(await own.current({ names: ["gateway"], addresses: [] }, NOW)).toBe(made);
  const moved = await own.current({ names: ["gateway"], addresses: [ip("192.168.8.2")] }, NOW);
  expect(factsOf(moved.certificate).names).toEqual(["gateway", "192.168.8.2"]);
});

test("one that was made while the clock was ahead is made again when the clock is right", async () => {
  const own = certificateOn(new Texts());
  const ahead = await own.current(NAMES, NOW + 365 * DAY_MS);
  expect(await own.current(NAMES, NOW)).not.toBe(ahead);
});

test.each(["", "{}", "null", '{"certificate":"x","key":"y"}'])(
  "a stored text that is none, %j, is replaced",
  async (text) => {
    const store = new Texts();
    store.kept.set("https_certificate", text);
    const made = await certificateOn(store).current(NAMES, NOW);
    expect(factsOf(made.certificate).names).toContain("gateway");
    expect(store.kept.get("https_certificate")).toBe(JSON.stringify(made));
  },
);

test("one whose stored key is damaged, or is another's, is replaced", async () => {
  const made = await certificateOn(new Texts()).current(NAMES, NOW);
  const other = await certificateOn(new Texts()).current(NAMES, NOW);
  for (const key of ["y", "", made.key.slice(0, 100), other.key]) {
    const store = new Texts();
    store.kept.set("https_certificate", JSON.stringify({ ...made, key }));
    const next = await certificateOn(store).current(NAMES, NOW);
    expect(next.certificate).not.toBe(made.certificate);
    expect(() => createSecureContext({ cert: next.certificate, key: next.key })).not.toThrow();
  }
});

test("on a full disk there is one all the same, and the log says that it is not kept", async () => {
  const [store, lines] = [new Texts(), [] as string[]];
  store.isFull = true;
  const own = certificateOn(store, lines);
  const made = await own.current(NAMES, NOW);
  expect(await own.current(NAMES, NOW + DAY_MS)).toBe(made);
  expect(lines).toEqual([
    "HTTPS: the certificate cannot be kept, and the next start makes another: The database could not be written: the disk is full.",
  ]);
  expect(lines.join()).not.toContain("PRIVATE KEY");
});
