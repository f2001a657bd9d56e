import { afterAll, beforeAll, beforeEach, expect, setDefaultTimeout } from "bun:test";
import { writeFileSync } from "node:fs";
import { join } from "node:path";
import { LAN, UPLINK } from "../../src/sandbox/topology.ts";
import { long } from "../fast.ts";
import { Browser } from "../rig/dashboard/browser.ts";
import { createLab, type Gateway, type GatewayOptions, type Lab } from "../rig/tools/lab.ts";
import { until } from "../rig/tools/until.ts";
import { makeSignedCertificate } from "../system/certificate.ts";
import { BINARY } from "./client.ts";

const { test } = long("each page over HTTPS");

/** Network namespaces, a gateway, its restarts and a browser on a busy machine. */
const TIMEOUT_MS = 300_000;
setDefaultTimeout(TIMEOUT_MS);
/** Only in the namespace of the gateway. */
const PORT = 5443;

let lab: Lab;
let gateway: Gateway;
const options: GatewayOptions = { program: [BINARY] };
const flagsFor = (auth: string, ...more: string[]) => [
  "--host",
  "::",
  "--https",
  "on",
  "--auth",
  auth,
  ...more,
];

beforeAll(async () => {
  lab = await createLab({ cards: 2 });
  options.flags = flagsFor("off");
  gateway = await lab.startGateway(options);
  await gateway.keep();
}, TIMEOUT_MS);
afterAll(() => lab?.close(), TIMEOUT_MS);
beforeEach(async () => {
  options.flags = flagsFor("off");
  await gateway.reset();
}, TIMEOUT_MS);

/** What curl says of a computer's request: the status, and the error if there is no answer. */
async function curl(namespace: string, host: string, ...more: string[]): Promise<string> {
  const shown = [
    "-gs",
    "-m",
    "20",
    "-o",
    "/dev/null",
    "-w",
    "%{http_code} %{ssl_verify_result} %{redirect_url}",
  ];
  const { code, stdout } = await lab.exec(namespace, ["curl", ...shown, ...more, host]);
  return code === 0 ? stdout.trim() : `curl ${code}`;
}

/** The certificate, as the command prints it, in a file for clients that trust it. */
async function trusted(name = "gateway"): Promise<string> {
  const path = join(lab.sandbox.directory, `${name}.pem`);
  await until(async () => (await command("--certificate")).code === 0);
  writeFileSync(path, (await command("--certificate")).stdout);
  return path;
}

const command = (...words: string[]) =>
  lab.exec(lab.namespaces.gateway, [BINARY, "https", ...words, "--url", `http://127.0.0.1:${gateway.port}`]);

test("the LAN reaches HTTPS by each address, with a certificate that fits; the uplink and the tunnel do not", async () => {
  const { client, router, vpn1, gateway: inside } = lab.namespaces;
  const file = await trusted();
  for (const host of [LAN.gateway4, `[${LAN.gateway6}]`])
    expect(await curl(client, `https://${host}:${PORT}/health`, "--cacert", file)).toBe("200 0");
  expect(await curl(client, `https://${LAN.gateway4}:${PORT}/health`)).toBe("curl 60");
  const named = ["--connect-to", `localhost:${PORT}:${LAN.gateway4}:${PORT}`, "--cacert", file];
  expect(await curl(client, `https://localhost:${PORT}/api/status`, ...named)).toBe("200 0");
  expect(await curl(client, `http://${LAN.gateway4}:${gateway.port}/`)).toBe("200 0");

  // The same ports of the same program: 7 is no connection, 28 is no answer.
  expect((await gateway.api("POST", "/api/connect", { server: "box-vpn-1" })).status).toBe(200);
  const [v4 = "", v6 = ""] = lab.sandbox.managedAddress.split(",").map((prefix) => prefix.split("/")[0]);
  const outside = [
    ...[UPLINK.gateway4, `[${UPLINK.gateway6}]`].map((host) => [router, host] as const),
    ...[v4, `[${v6}]`].map((host) => [vpn1, host] as const),
  ];
  for (const [namespace, host] of outside)
    for (const url of [`https://${host}:${PORT}/health`, `http://${host}:${gateway.port}/health`])
      expect(await curl(namespace, url, "-k", "-m", "2")).toMatch(/^curl (7|28)$/);
  expect((await gateway.api("POST", "/api/disconnect")).status).toBe(200);
  // Without the kill switch their packets come in, and it is HTTPS itself that refuses the stranger.
  expect((await gateway.operate("killswitch", "off")).code).toBe(0);
  expect(await curl(router, `https://${UPLINK.gateway4}:${PORT}/api/status`, "-k")).toStartWith("403 ");
  expect(await curl(client, `https://${LAN.gateway4}:${PORT}/api/status`, "-k")).toStartWith("200 ");

  const { stdout } = await lab.exec(inside, [
    "openssl",
    "x509",
    "-in",
    file,
    "-noout",
    "-fingerprint",
    "-sha256",
  ]);
  const fingerprint = stdout.trim().split("=")[1] ?? "none";
  expect((await command()).stdout).toContain(`SHA-256 ${fingerprint}`);
  const { checks } = (await gateway.api("GET", "/api/checks")).body;
  expect(checks.find(({ id }: { id: string }) => id === "https")).toMatchObject({
    result: "ok",
    found: expect.stringContaining(fingerprint),
  });
  // The command line too can use it, if it is told to trust it.
  const own = ["env", `NODE_EXTRA_CA_CERTS=${file}`, BINARY, "status", "--url", `https://localhost:${PORT}`];
  expect(await lab.exec(inside, own)).toMatchObject({ code: 0, stderr: "" });
  expect(await lab.exec(inside, own.slice(2))).toMatchObject({ code: 3 });
  expect(gateway.log()).not.toContain("PRIVATE KEY");
});

test("the certificate is kept over restarts; the operator's own is read from two files, and errors name them", async () => {
  const { client } = lab.namespaces;
  const file = await trusted("first");
  await gateway.restart();
  await trusted();
  expect(await curl(client, `https://${LAN.gateway4}:${PORT}/health`, "--cacert", file)).toBe("200 0");
  const made = await makeSignedCertificate(lab.sandbox.directory, LAN.gateway4);
  options.flags = flagsFor("off", "--https-cert", made.certificate, "--https-key", made.key);
  await gateway.restart();
  await trusted();
  const url = `https://${LAN.gateway4}:${PORT}/health`;
  expect(await curl(client, url, "--cacert", made.authority)).toBe("200 0");
  expect(await curl(client, url, "--cacert", file)).toBe("curl 60");
  options.flags = flagsFor("off", "--https-cert", made.certificate, "--https-key", "/missing.pem");
  await gateway.restart();
  const message = "--https-key: there is no file /missing.pem, or it cannot be read";
  await until(() => gateway.log().includes(`error: HTTPS: ${message}`));
  expect((await command()).stdout).toContain(message);
  expect(await curl(client, url, "-k")).toBe("curl 7");
  expect(await curl(client, `http://${LAN.gateway4}:${gateway.port}/health`)).toBe("200 0");
});

test("with tokens, a browser is led from HTTP to HTTPS before it logs in, and the page lives by wss; scripts stay", async () => {
  const { client } = lab.namespaces;
  options.flags = flagsFor("on");
  await gateway.restart();
  const token = (await gateway.operate("token", "add", "phone")).stdout.trim();
  const plain = `http://${LAN.gateway4}:${gateway.port}`;
  const secure = `https://${LAN.gateway4}:${PORT}`;
  expect(await curl(client, `${plain}/`)).toBe(`307 0 ${secure}/`);
  expect(await curl(client, `${plain}/swagger`)).toBe(`307 0 ${secure}/swagger`);
  const header = join(lab.sandbox.directory, "header");
  writeFileSync(header, `Authorization: Bearer ${token}\n`);
  expect(await curl(client, `${plain}/api/status`, "-H", `@${header}`)).toBe("200 0");
  expect(await curl(client, `${plain}/api/status`)).toBe("401 0");

  await until(async () => (await curl(client, `${secure}/health`, "-k")).startsWith("200 "));
  const browser = await Browser.start(client);
  try {
    const tab = await browser.open(`${plain}/#/servers`);
    await tab.shows("h1", "Log in");
    expect(tab.page.url()).toBe(`${secure}/#/servers`);
    await tab.type("Token", token);
    await tab.click("Log in");
    await tab.shows("nav", "Servers");
    await until(() => tab.urls.includes(`wss://${LAN.gateway4}:${PORT}/ws?traffic`));
    expect(tab.urls.filter((url) => !url.startsWith(secure) && !url.startsWith("wss:"))).toEqual([
      `${plain}/#/servers`,
    ]);
    // Before the login, its questions were refused.
    expect(tab.complaints.filter((each) => !/\b401\b|HTTP Authentication failed/.test(each))).toEqual([]);
    const docs = await browser.open(`${plain}/swagger`);
    await docs.shows("form", "This gateway asks for a token");
    await docs.page.type("input", token);
    await docs.page.click("button");
    await docs.shows(".swagger-ui .info .title", "Portcullis");
    expect(docs.page.url()).toBe(`${secure}/swagger`);
    expect(docs.urls.slice(1).every((url) => url.startsWith(secure) || url.startsWith("data:"))).toBe(true);
  } finally {
    await browser.close();
  }
});

test("the code of pair makes a client with the certificate an owner, once, over HTTPS only, and not after a restart", async () => {
  const { client } = lab.namespaces;
  const [plain, secure] = [`http://${LAN.gateway4}:${gateway.port}`, `https://${LAN.gateway4}:${PORT}`];
  const file = await trusted();
  const code = async () => (await gateway.operate("pair")).stdout.split("\n")[0] ?? "";
  /** The status and the answer of a request that has its body and its token in files, once the limit permits it. */
  const ask = async (
    method: string,
    url: string,
    body: object,
    token = "",
  ): Promise<{ status: string | undefined; json: { owner?: boolean; token?: string } }> => {
    const [given, header] = ["body", "header"].map((name) => join(lab.sandbox.directory, name));
    writeFileSync(given ?? "", JSON.stringify(body));
    writeFileSync(header ?? "", token === "" ? "" : `Authorization: Bearer ${token}\n`);
    const json = ["-H", "Content-Type: application/json", "-H", `@${header}`, "-d", `@${given}`];
    const words = ["curl", "-gs", "-m", "60", "--cacert", file, "-X", method, "-w", "\n%{http_code}"];
    const { stdout, code } = await lab.exec(client, [...words, ...json, url]);
    if (code !== 0) throw new Error(`${method} ${url}: curl ${code}`);
    const [text = "", status] = stdout.split("\n");
    if (status === "429") {
      // What `Retry-After` says; a request that is rejected counts, too.
      await Bun.sleep(1_000);
      return ask(method, url, body, token);
    }
    return { status, json: JSON.parse(text) };
  };
  const pair = (origin: string, typed: string) =>
    ask("POST", `${origin}/api/owner/pair`, {
      ...{ code: typed, name: "laptop", passphrase: "correct horse battery" },
    });
  const forgotten = await code();
  await gateway.restart();
  await trusted();
  expect((await pair(secure, forgotten)).status).toBe("403");

  const typed = await code();
  expect(await pair(plain, typed)).toMatchObject({
    status: "403",
    json: { error: expect.stringContaining(`use ${secure}.`) },
  });
  const { status, json } = await pair(secure, typed);
  expect([status, json.owner]).toEqual(["200", true]);
  expect((await pair(secure, typed)).status).toBe("403");

  const on = async () => (await gateway.api("GET", "/api/remote")).body.on;
  expect((await ask("PUT", `${plain}/api/owner/remote`, { on: true }, json.token)).status).toBe("403");
  expect((await ask("PUT", `${secure}/api/owner/remote`, { on: true })).status).toBe("403");
  expect(await on()).toBe(false);
  await gateway.restart();
  await trusted();
  expect((await ask("PUT", `${secure}/api/owner/remote`, { on: true }, json.token)).status).toBe("200");
  expect(await on()).toBe(true);
  expect((await gateway.operate("token", "list")).stdout).toContain("may do all that root may");
  expect((await gateway.operate("token", "remove", "laptop")).code).toBe(0);
  expect((await ask("PUT", `${secure}/api/owner/remote`, { on: false }, json.token)).status).toBe("401");
  for (const secret of [typed, json.token, "correct horse"]) expect(gateway.log()).not.toContain(secret);
});
