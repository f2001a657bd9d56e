import { afterAll, beforeAll, expect } from "bun:test";
import { LANGUAGES } from "../../src/dashboard/languages/all.ts";
import { bundle } from "../../src/http/dashboard/bundle.ts";
import { slow } from "../fast.ts";
import { PUBLIC } from "../servers/example.ts";
import { Home, LISTING } from "./home.ts";

const { test } = slow;

const EVIL = {
  ...{ hostname: "se-1", country: "Sweden", city: "<img src=x>", ipv4: "192.0.2.1", port: 51820 },
  public_key: PUBLIC,
};

/** Processor time of a request and its answer. */
const MAX_WORK_MS = 40;

let home: Home;
/** The page's files as they are built again, and their names. */
let built: Record<string, string>;
let names: string[];
/** What the page names, and the page itself. */
let paths: string[];

beforeAll(async () => {
  built = bundle();
  names = Object.keys(built);
  home = await Home.start();
  const { text } = await home.send("GET", "/");
  paths = ["/", ...[...text.matchAll(/(?:src|href)="([^"]*)"/g)].map(([, path = ""]) => path)];
}, 120_000);
afterAll(() => home.stop());

const scripts = () =>
  Promise.all(
    paths.filter((each) => each.endsWith(".js")).map(async (path) => (await home.send("GET", path)).text),
  );

const fetched = (path: string, headers: Record<string, string> = {}) =>
  fetch(`http://127.0.0.1:${home.port}${path}`, { headers });

test("the page is whole: each address in it is the gateway's own and answers with its type", async () => {
  const types = await Promise.all(
    paths.map(async (path) => {
      const answer = await fetched(path, { "Accept-Encoding": "identity" });
      const { status, headers } = answer;
      expect((await answer.arrayBuffer()).byteLength).toBe(Number(headers.get("content-length")));
      return [status, path.replace(/-[a-z0-9]+\./, "-HASH."), headers.get("content-type")];
    }),
  );
  expect(types).toEqual([
    [200, "/", "text/html; charset=utf-8"],
    [200, "/dashboard/icon-HASH.svg", "image/svg+xml"],
    [200, "/dashboard/home-screen-HASH.png", "image/png"],
    [200, "/dashboard/app-HASH.webmanifest", "application/manifest+json"],
    [200, "/dashboard/index-HASH.css", "text/css; charset=utf-8"],
    // What Home and Devices need, and the other views or the map need, too.
    [200, "/dashboard/index-HASH.js", "text/javascript; charset=utf-8"],
    [200, "/dashboard/index-HASH.js", "text/javascript; charset=utf-8"],
    [200, "/dashboard/index-HASH.js", "text/javascript; charset=utf-8"],
  ]);
});

test("the page may load and run nothing but the gateway's own files", async () => {
  for (const path of paths) {
    const { headers } = await home.send("GET", path);
    expect(headers.get("content-security-policy")).toBe(
      "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self'; connect-src 'self'; " +
        "manifest-src 'self'; base-uri 'none'; form-action 'none'; frame-ancestors 'none'",
    );
    expect(headers.get("x-content-type-options")).toBe("nosniff");
    expect(headers.get("set-cookie")).toBeNull();
  }
  const page = (await home.send("GET", "/")).text;
  expect(page).not.toMatch(/<script(?![^>]* src=)|<style|style=|\son[a-z]+=|https?:/);
});

test("on a phone's home screen it has its name, icons and ways to its views", async () => {
  const path = paths.find((each) => each.endsWith(".webmanifest")) ?? "";
  const manifest = JSON.parse((await home.send("GET", path)).text);
  expect(manifest).toMatchObject({ name: "Portcullis", start_url: "/", display: "standalone" });
  expect(manifest.icons.map(({ src }: { src: string }) => `/dashboard/${src}`)).toEqual(
    paths.filter((each) => /\.(svg|png)$/.test(each)),
  );
  for (const { url } of manifest.shortcuts) expect(url).toMatch(/^\/#\/(servers|devices|checks)$/);
});

test("a browser asks for the page each time, and never again for what it names", async () => {
  for (const path of paths) {
    const { headers } = await home.send("GET", path);
    expect([path, headers.get("cache-control")]).toEqual([
      path,
      path === "/" ? "no-store" : "public, max-age=31536000, immutable",
    ]);
    const tag = headers.get("etag") ?? "";
    const again = await home.send("GET", path, undefined, { "If-None-Match": tag });
    expect([again.status, again.text, again.headers.get("etag")]).toEqual([304, "", tag]);
    expect((await home.send("GET", path, undefined, { "If-None-Match": 'W/"other"' })).status).toBe(200);
  }
});

const served = (text: string) => /<h1>(.*?)<\/h1>/.exec(text)?.[1] ?? null;

test("what the page says before its script runs is of this moment, and its validator changes with it", async () => {
  const before = await home.send("GET", "/");
  expect(served(before.text)).toBe("Blocked");
  await home.connect();
  const tag = before.headers.get("etag") ?? "";
  const { status, text, headers } = await home.send("GET", "/", undefined, { "If-None-Match": tag });
  expect([status, served(text)]).toEqual([200, "Connected"]);
  expect(headers.get("etag")).not.toBe(tag);
});

test("who asks for the page all the time starts few programs, and learns what is true now", async () => {
  const began = performance.now();
  const before = home.host.commands.length;
  while (performance.now() - began < 500) expect((await home.again("GET", "/")).status).toBe(200);
  const looks = home.host.commands.slice(before).filter((each) => each === LISTING);
  expect(looks.length).toBeWithin(2, 7);
  await home.send("POST", "/api/disconnect");
  expect(served((await home.again("GET", "/")).text)).toBe("Blocked");
  await home.connect();
});

test("it is in the language that a person has chosen, or else the first that the browser wishes", async () => {
  const inLanguage = async (headers: Record<string, string>) =>
    served((await home.send("GET", "/", undefined, headers)).text);
  expect(await inLanguage({ "Accept-Language": "tlh, fr-CA;q=0.9, de;q=0.5" })).toBe("Connecté");
  expect(await inLanguage({ "Accept-Language": "zh-TW" })).toBe("Connected");
  expect(await inLanguage({ Cookie: "a=b; portcullis-language=de", "Accept-Language": "fr" })).toBe(
    "Verbunden",
  );
  expect(await inLanguage({ Cookie: "portcullis-language=xx", "Accept-Language": "de" })).toBe("Verbunden");
  for (const odd of ["*", ",,;q=1", "de".repeat(2_000), "é"])
    expect([odd, await inLanguage({ "Accept-Language": odd })]).toEqual([odd, "Connected"]);
});

test("no wish for a language keeps the gateway from other work", async () => {
  const parts = (count: number) => Array.from({ length: count }, (_, at) => `bbb${at + 10_000}`).join("-");
  const extensions = "xx-u-ca-abc-co-abc-nu-abc-kn-abc";
  for (const wish of [`xx-${parts(1_500)}`, Array(400).fill(extensions).join(",")]) {
    let least = Number.POSITIVE_INFINITY;
    for (let tries = 0; tries < 5 && least > MAX_WORK_MS; tries++) {
      const before = process.cpuUsage();
      const { status } = await home.send("GET", "/", undefined, { "Accept-Language": wish });
      expect(status).toBe(200);
      const { user, system } = process.cpuUsage(before);
      least = Math.min(least, (user + system) / 1_000);
    }
    expect([wish.slice(0, 20), least]).toEqual([wish.slice(0, 20), Math.min(least, MAX_WORK_MS)]);
  }
});

test("what a server is called does not become markup of the page", async () => {
  const evil = await Home.start({}, { "/etc/servers.json": JSON.stringify({ servers: [EVIL] }) });
  await evil.connect();
  const { text } = await evil.send("GET", "/");
  expect(text).toContain("&lt;img src=x&gt;");
  expect(text).not.toContain("<img");
  await evil.stop();
});

test("if reading needs a token, the page says nothing of the home to whoever asks for it", async () => {
  for (const [auth, says] of [
    ["on", null],
    ["write", "Blocked"],
  ] as const) {
    const guarded = await Home.start({}, {}, auth);
    const { status, text } = await guarded.send("GET", "/");
    expect([auth, status, served(text)]).toEqual([auth, 200, says]);
    expect(text).toContain('<p class="loading">');
    await guarded.stop();
  }
});

test("files are compressed for whoever takes gzip, and plain for others", async () => {
  for (const path of paths) {
    const plain = await fetched(path, { "Accept-Encoding": "identity" });
    expect(plain.headers.get("content-encoding")).toBeNull();
    expect(plain.headers.get("vary")).toBe("Accept-Encoding");
    const text = await plain.text();
    for (const taken of ["gzip", "br, GZIP;q=0.5", "deflate, gzip ; q=1.0"]) {
      const packed = await fetched(path, { "Accept-Encoding": taken });
      expect([taken, packed.headers.get("content-encoding")]).toEqual([taken, "gzip"]);
      expect(await packed.text()).toBe(text);
    }
    for (const refused of ["gzip;q=0", "gzip; q=0.000", "br", "*", "xgzip"])
      expect(
        (await fetched(path, { "Accept-Encoding": refused })).headers.get("content-encoding"),
      ).toBeNull();
  }
});

test("the messages of each language are a file that the script names", async () => {
  const catalogues = names.filter((name) => name.endsWith(".json"));
  const languages = LANGUAGES.filter(({ catalogue }) => catalogue !== null).map(({ code }) => code);
  // Its own messages, and what it has in common with the gateway.
  for (const kind of ["", "sentences.", "errors.", "findings."]) {
    const found = languages.filter(
      (code) => catalogues.filter((name) => name.startsWith(`${kind}${code}`)).length === 1,
    );
    expect([kind, found]).toEqual([kind, languages]);
  }
  expect(catalogues).toHaveLength(4 * languages.length);
  const script = (await scripts()).join();
  for (const name of catalogues) {
    expect(script).toContain(`"/dashboard/${name}"`);
    const { status, headers, json } = await home.send("GET", `/dashboard/${name}`);
    expect([status, headers.get("content-type")]).toEqual([200, "application/json"]);
    expect(headers.get("cache-control")).toBe("public, max-age=31536000, immutable");
    expect(Object.keys(json).length).toBeGreaterThan(0);
  }
});

test("views that are opened later are a script of its own, which the page's script names", async () => {
  const others = names.filter((name) => name.startsWith("others-"));
  expect(others).toHaveLength(1);
  expect((await scripts()).join()).toContain(`/dashboard/${others[0]}`);
  const { status, headers } = await home.send("GET", `/dashboard/${others[0]}`);
  expect([status, headers.get("content-type")]).toEqual([200, "text/javascript; charset=utf-8"]);
  expect(headers.get("cache-control")).toBe("public, max-age=31536000, immutable");
  expect(paths).not.toContain(`/dashboard/${others[0]}`);
});

test("the same sources make the same files, with the same names", () => {
  expect(
    names
      .filter(
        (name) =>
          name !== "index.html" &&
          !/^(others|map|place-guess|wg-easy|gluetun-file)-/.test(name) &&
          !name.endsWith(".json"),
      )
      .map((name) => `/dashboard/${name}`)
      .toSorted(),
  ).toEqual(paths.slice(1).toSorted());
});

test("with all that they tell in a language unless something fails, all views take at most 200 kB on the wire", () => {
  const sizeOf = (those: readonly string[]) =>
    those.reduce((sum, name) => sum + Uint8Array.fromBase64(built[name] ?? "").length, 0);
  const own = sizeOf(names.filter((name) => !name.endsWith(".json")));
  for (const { code } of LANGUAGES) {
    const told = names.filter((name) => !name.startsWith("errors.") && name.split("-")[0]?.endsWith(code));
    expect([code, told.length]).toEqual([code, code === "en" ? 0 : 3]);
    expect(own + sizeOf(told)).toBeGreaterThan(100_000);
    expect([code, own + sizeOf(told)].join()).toBe([code, Math.min(200_000, own + sizeOf(told))].join());
  }
});
