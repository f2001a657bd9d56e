import { afterAll, beforeAll, expect, setDefaultTimeout } from "bun:test";
import { mkdtempSync, readFileSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { slow } from "../fast.ts";
import { makeSignedCertificate } from "../system/certificate.ts";
import { FakeBroker } from "./broker.ts";
import { Shown } from "./shown.ts";

const { test } = slow;

setDefaultTimeout(240_000);

const CA = "/etc/ca.pem";
let folder: string;
beforeAll(() => {
  folder = mkdtempSync(join(tmpdir(), "portcullis-mqtt-"));
});
afterAll(() => rmSync(folder, { recursive: true, force: true }));

/** What is logged first about a broker whose certificate is for `name`, if it is contacted at `host`. */
async function outcome(name: string, host: string, isAuthorityKnown: boolean): Promise<string> {
  const { authority, certificate, key } = await makeSignedCertificate(folder, name);
  const broker = await FakeBroker.start(0, { cert: readFileSync(certificate), key: readFileSync(key) });
  const flags = { mqtt: `mqtts://ha@${host}:${broker.port}`, ...(isAuthorityKnown && { mqttCaFile: CA }) };
  const shown = await Shown.start(flags, undefined, broker, { [CA]: readFileSync(authority, "utf8") });
  await shown.until(() => shown.lines.length > 0);
  await shown.stop();
  if (!shown.lines[0]?.includes("connected")) expect(broker.hellos).toEqual([]);
  return shown.lines[0] ?? "";
}

test.each([
  ["127.0.0.1", "127.0.0.1"],
  ["localhost", "localhost"],
])("a broker whose certificate is for %s is used at %s", async (name, host) => {
  expect(await outcome(name, host, true)).toBe(`MQTT: connected to ${host}, which is on the LAN`);
});

test.each([
  ["127.0.0.2", "127.0.0.1"],
  ["localhost", "127.0.0.1"],
  ["broker.example", "localhost"],
])("a certificate for %s is refused at %s, and neither user nor password are sent", async (name, host) => {
  expect(await outcome(name, host, true)).toBe("MQTT: its certificate is for another name");
});

test("a certificate of an unknown authority is refused, and neither user nor password are sent", async () => {
  expect(await outcome("127.0.0.1", "127.0.0.1", false)).toMatch(/^MQTT: .*certificate/);
});

test("a broker that does not speak TLS gets neither user nor password", async () => {
  const broker = await FakeBroker.start();
  const shown = await Shown.start({ mqtt: `mqtts://ha@127.0.0.1:${broker.port}` }, undefined, broker);
  await shown.until(() => shown.lines.length > 0);
  expect(broker.hellos).toEqual([]);
  await shown.stop();
});
