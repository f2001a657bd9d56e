import { afterEach, beforeEach, expect } from "bun:test";
import { readFileSync, rmSync } from "node:fs";
import { hostname } from "node:os";
import tls from "node:tls";
import { serveHttps } from "../../src/app/https.ts";
import { factsOf } from "../../src/certificates/certificate.ts";
import { Https } from "../../src/certificates/https.ts";
import { httpsFinding } from "../../src/checks/https.ts";
import { slow } from "../fast.ts";
import { until } from "../rig/tools/until.ts";
import { makeCertificate } from "../system/certificate.ts";
import { newDirectory } from "../tunnel/directory.ts";
import { Home } from "./home.ts";

const { test } = slow;

const DAY_MS = 86_400_000;
const FILES = { httpsCert: "/etc/own/cert.pem", httpsKey: "/etc/own/key.pem" };
const OWN = { httpsCert: null, httpsKey: null };

let home: Home;
let stopping: AbortController;
let served: Promise<void>;
beforeEach(async () => {
  home = await Home.start();
  stopping = new AbortController();
  served = Promise.resolve();
});
afterEach(async () => {
  stopping.abort();
  await served;
  await home.stop();
});

/** Serves at a free port; `lines` are the log's. */
function start(files: typeof FILES | typeof OWN) {
  const lines: string[] = [];
  const add = (line: string) => void lines.push(line);
  const https = new Https(5443, files.httpsCert === null);
  const log = { ...home.parts.log, info: add, warn: add, error: add } as unknown as Home["parts"]["log"];
  const settings = { ...home.parts.settings, ...files, host: "127.0.0.1" };
  served = serveHttps({ ...home.parts, settings, https, log }, home.app, 0, stopping.signal);
  return { https, lines };
}

/** The fingerprint of the certificate that a client gets. */
async function shown(): Promise<string> {
  const port = home.app.servers.https?.port ?? 0;
  const socket = tls.connect({ host: "127.0.0.1", port, rejectUnauthorized: false });
  await new Promise((done) => socket.once("secureConnect", done));
  const { fingerprint256 } = socket.getPeerCertificate();
  socket.destroy();
  return fingerprint256;
}

async function files(name: string): Promise<{ certificate: string; key: string }> {
  const folder = newDirectory();
  const paths = await makeCertificate(folder, name);
  const texts = {
    certificate: readFileSync(paths.certificate, "utf8"),
    key: readFileSync(paths.key, "utf8"),
  };
  rmSync(folder, { recursive: true });
  return texts;
}

function place({ certificate, key }: { certificate: string; key: string }): void {
  home.host.files.set(FILES.httpsCert, certificate);
  home.host.files.set(FILES.httpsKey, key);
}

test("the gateway's own certificate has its names and its address on the LAN, and is told before anyone needs it", async () => {
  const { https, lines } = start(OWN);
  await https.started;
  const { certificate, error } = https.status();
  expect(error).toBeNull();
  expect(certificate).toMatchObject({ own: true, fingerprint: await shown() });
  expect(certificate?.names).toContain(`${hostname().toLowerCase()}.local`);
  expect(certificate?.names).toContain("192.168.7.1");
  expect(lines.join()).toEndWith(`fingerprint is ${certificate?.fingerprint}`);
  expect(JSON.stringify([https.status(), lines])).not.toContain("PRIVATE KEY");
  expect(httpsFinding(https.status(), OWN, home.host.now())?.found).toContain(`${certificate?.fingerprint}`);
});

test("it is renewed without a restart, a month before its end, at the same port", async () => {
  const { https } = start(OWN);
  await https.started;
  const [first, port] = [await shown(), home.app.servers.https?.port];
  const { notAfter } = factsOf(https.status().certificate?.pem ?? "");
  home.host.setClock(notAfter - 29 * DAY_MS);
  await home.pass(60_000);
  await until(() => https.status().certificate?.fingerprint !== first);
  expect(await shown()).toBe(https.status().certificate?.fingerprint ?? "");
  expect(home.app.servers.https?.port).toBe(port);
  expect((await home.send("GET", "/health")).text).toBe("healthy");
});

test("files that are missing or wrong keep nothing but HTTPS from working, and repaired ones need no restart", async () => {
  const { https, lines } = start(FILES);
  await https.started;
  const message = "--https-cert: there is no file /etc/own/cert.pem, or it cannot be read";
  expect([https.status(), lines]).toEqual([
    { port: 5443, certificate: null, error: message },
    [`HTTPS: ${message}`],
  ]);
  expect(httpsFinding(https.status(), FILES, 0)).toMatchObject({
    result: "fault",
    found: `does not work: ${message}`,
  });
  expect((await home.send("GET", "/health")).text).toBe("healthy");
  const own = await files("vpn.example");
  place(own);
  await home.pass(1_000);
  await until(() => https.status().certificate !== null);
  expect(await shown()).toBe(factsOf(own.certificate).fingerprint);
  expect(https.status()).toMatchObject({ certificate: { own: false, names: ["vpn.example"] }, error: null });
});

test("files that change are read again; while they do not fit, the former certificate is used", async () => {
  const [one, two] = [await files("vpn.example"), await files("vpn.example")];
  place(one);
  const { https } = start(FILES);
  await https.started;
  place({ certificate: two.certificate, key: one.key });
  await home.pass(60_000);
  await until(() => https.status().error !== null);
  expect(https.status().error).toBe(
    "--https-key: /etc/own/key.pem is not the key of the certificate in /etc/own/cert.pem",
  );
  expect(await shown()).toBe(factsOf(one.certificate).fingerprint);
  expect(httpsFinding(https.status(), FILES, 0)?.result).toBe("warning");
  place(one);
  await home.pass(60_000);
  await until(() => https.status().error === null);
  place(two);
  await home.pass(60_000);
  await until(() => https.status().certificate?.fingerprint === factsOf(two.certificate).fingerprint);
  expect(await shown()).toBe(factsOf(two.certificate).fingerprint);
});

test("the check warns two weeks before the end of a certificate in files, and says when it has ended", async () => {
  const https = new Https(5443, false);
  const { certificate } = await files("vpn.example");
  https.serves(certificate);
  const { notAfter } = factsOf(certificate);
  const resultAt = (now: number, own = FILES) => httpsFinding(https.status(), own, now)?.result;
  expect(resultAt(notAfter - 15 * DAY_MS)).toBe("ok");
  expect(resultAt(notAfter - 13 * DAY_MS)).toBe("warning");
  expect(resultAt(notAfter)).toBe("fault");
  expect(httpsFinding(new Https(null, true).status(), OWN, 0)).toBeNull();
});
