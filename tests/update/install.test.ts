import { afterAll, afterEach, beforeAll, beforeEach, describe, expect } from "bun:test";
import {
  appendFileSync,
  existsSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  rmSync,
  symlinkSync,
  truncateSync,
  writeFileSync,
} from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { slow } from "../fast.ts";
import { makeCertificate } from "../system/certificate.ts";
import { type Made, Workshop } from "./made.ts";

const { test } = slow;
const TEMPLATE = readFileSync(join(import.meta.dir, "../../src/update/install.sh"), "utf8");
const PACKAGE = "portcullis_9.2.0_arm64.deb";
/** The only programs that the script finds, apart from those that the test plays. */
const PROGRAMS = ["sh", "mktemp", "rm", "cat", "grep", "sed", "wc", "timeout", "ssh-keygen", "sha256sum"];

let workshop: Workshop;
let folder: string;
let server: Bun.Server<undefined>;
/** What the server shows. */
let shown: string;
/** How often the same files were asked for without TLS. */
let inClear = 0;
/** Where the script puts what it downloads. */
let temporary: string;
/** The release's install.sh. */
let script: string;

beforeAll(async () => {
  workshop = new Workshop();
  folder = mkdtempSync(join(tmpdir(), "portcullis-install-"));
  const { certificate, key } = await makeCertificate(folder, "localhost");
  script = join(folder, "install.sh");
  writeFileSync(join(folder, "wgetrc"), `ca_certificate = ${certificate}\n`);
  const answer = (pathname: string) => {
    const file = join(shown, pathname);
    return existsSync(file) ? new Response(Bun.file(file)) : new Response("", { status: 404 });
  };
  const plain = Bun.serve({
    hostname: "127.0.0.1",
    port: 0,
    fetch: (request) => {
      inClear += 1;
      return answer(new URL(request.url).pathname);
    },
  });
  plain.unref();
  server = Bun.serve({
    hostname: "127.0.0.1",
    port: 0,
    tls: { cert: readFileSync(certificate), key: readFileSync(key) },
    fetch: (request) => {
      const { pathname } = new URL(request.url);
      if (pathname.startsWith("/plain/")) return Response.redirect(`${plain.url.origin}${pathname.slice(6)}`);
      if (pathname.startsWith("/moved/")) return Response.redirect(pathname.slice(6));
      return answer(pathname);
    },
  });
});
afterAll(() => {
  server.stop(true);
  workshop.close();
  rmSync(folder, { recursive: true });
});
beforeEach(() => {
  writeFileSync(script, TEMPLATE.replace("@SIGNERS@\n", workshop.key.signers));
  temporary = mkdtempSync(join(folder, "temporary-"));
});
afterEach(() => expect(readdirSync(temporary)).toEqual([]));

interface Around {
  architecture?: string;
  /** What downloads. */
  by?: "curl" | "wget";
  /** Arguments of the script. */
  words?: string[];
  uid?: string;
  aptFails?: boolean;
}

/** Runs the script where it finds nothing but what it needs, and an apt-get that writes down what it is given. */
async function installs(around: Around = {}) {
  const {
    architecture = "arm64",
    by = "curl",
    words = [`https://localhost:${server.port}/`],
    uid = "0",
    aptFails = false,
  } = around;
  const bin = mkdtempSync(join(folder, "bin-"));
  for (const program of [...PROGRAMS, by]) symlinkSync(Bun.which(program) ?? program, join(bin, program));
  const plays = {
    id: `echo ${uid}`,
    dpkg: `echo ${architecture}`,
    "apt-get": `echo "$*" >${bin}/ran; cat "$6" >${bin}/package${aptFails ? "; exit 100" : ""}`,
  };
  for (const [name, line] of Object.entries(plays))
    writeFileSync(join(bin, name), `#!/bin/sh\n${line}\n`, { mode: 0o755 });
  const child = Bun.spawn(["sh", script, ...words], {
    env: {
      PATH: bin,
      TMPDIR: temporary,
      CURL_CA_BUNDLE: join(folder, "certificate.pem"),
      WGETRC: join(folder, "wgetrc"),
    },
    stdin: "ignore",
    stdout: "pipe",
    stderr: "pipe",
  });
  const [stdout, stderr, code] = await Promise.all([child.stdout.text(), child.stderr.text(), child.exited]);
  const textOf = (name: string) => (existsSync(join(bin, name)) ? readFileSync(join(bin, name)) : null);
  return { code, stdout, stderr, ran: textOf("ran")?.toString() ?? null, given: textOf("package") };
}

function show(made: Made = {}, change: (folder: string) => void = () => {}): void {
  shown = workshop.release(made);
  change(shown);
}

describe.each(["curl", "wget"] as const)("with %s", (by) => {
  test("the package for this machine is verified and installed", async () => {
    show();
    const { code, stdout, stderr, ran, given } = await installs({ by });
    expect({ code, stderr }).toEqual({ code: 0, stderr: "" });
    expect(ran).toBe(`install --yes --no-install-recommends -o APT::Sandbox::User=root ./${PACKAGE}\n`);
    expect(given).toEqual(readFileSync(join(shown, PACKAGE)));
    expect(stdout).toBe(
      "Portcullis is installed. If this machine is not a gateway yet: sudo portcullis setup\n",
    );
  });

  test("if apt-get fails, the last line says what helps, and not that Portcullis is installed", async () => {
    show();
    expect(await installs({ by, aptFails: true })).toMatchObject({
      code: 1,
      stdout: "",
      stderr:
        "install.sh: apt-get failed, see above; if a package is not installable, type apt-get update and try again\n",
    });
  });

  test("a redirect to https is followed, one to http is not", async () => {
    show();
    const at = `https://localhost:${server.port}`;
    expect(await installs({ by, words: [`${at}/moved/`] })).toMatchObject({ code: 0 });
    const { code, stderr, ran } = await installs({ by, words: [`${at}/plain/`] });
    expect({ code, ran }).toEqual({ code: 1, ran: null });
    expect(stderr).toEndWith(
      `install.sh: SHA256SUMS could not be downloaded from ${at}/plain/; nothing was installed\n`,
    );
    expect(inClear).toBe(0);
  });

  test("a server with a certificate of nobody gets nowhere", async () => {
    show();
    const words = [`https://127.0.0.1:${server.port}/`];
    expect(await installs({ by, words })).toMatchObject({ code: 1, ran: null });
  });
});

test("it takes the package of the machine's architecture, and refuses one that the release does not have", async () => {
  show();
  expect((await installs({ architecture: "amd64" })).ran).toContain(" ./portcullis_9.2.0_amd64.deb\n");
  const { code, stderr, ran } = await installs({ architecture: "armhf" });
  expect({ code, stderr, ran }).toEqual({
    code: 1,
    stderr: "install.sh: this release has no package for armhf; nothing was installed\n",
    ran: null,
  });
});

describe("nothing is installed, and nothing is left, if", () => {
  const unsigned = "SHA256SUMS is not signed by Portcullis's release key: do not use the files of";
  const changed = `${PACKAGE} is incomplete or was altered`;
  test.each<[string, () => void, string]>([
    ["another key has signed", () => show({ key: workshop.makeKey("stranger") }), unsigned],
    ["the signature is for another purpose", () => show({ namespace: "git" }), unsigned],
    ["the list has changed", () => show({}, (at) => appendFileSync(join(at, "SHA256SUMS"), "\n")), unsigned],
    [
      "the signature is garbage",
      () => show({}, (at) => writeFileSync(join(at, "SHA256SUMS.sig"), "x")),
      unsigned,
    ],
    [
      "the signature is missing",
      () => show({}, (at) => rmSync(join(at, "SHA256SUMS.sig"))),
      "SHA256SUMS.sig could not be downloaded",
    ],
    ["the package is cut short", () => show({}, (at) => truncateSync(join(at, PACKAGE), 99)), changed],
    ["the package is too long", () => show({}, (at) => appendFileSync(join(at, PACKAGE), "x")), changed],
    ["the package is another", () => show({}, (at) => writeFileSync(join(at, PACKAGE), "x")), changed],
    ["the package is missing", () => show({}, (at) => rmSync(join(at, PACKAGE))), `${PACKAGE} could not be`],
    [
      "the list has two versions",
      () => show({ list: (text) => text + text.replaceAll("9.2.0", "9.3.0") }),
      "this release has no package for arm64",
    ],
  ])("%s", async (_, prepare, why) => {
    prepare();
    const { code, stderr, ran } = await installs();
    expect({ code, ran }).toEqual({ code: 1, ran: null });
    expect(stderr).toContain(`install.sh: ${why}`);
    expect(stderr).toEndWith("; nothing was installed\n");
  });

  test("the package has no end", async () => {
    show({}, (at) => {
      rmSync(join(at, PACKAGE));
      writeFileSync(join(at, PACKAGE), "");
      truncateSync(join(at, PACKAGE), 300 * 2 ** 20);
    });
    const { code, stderr, ran } = await installs();
    expect({ code, ran }).toEqual({ code: 1, ran: null });
    expect(stderr).toContain(`${PACKAGE} could not be downloaded`);
  });

  test("it is not root, or the address is not that of a folder", async () => {
    show();
    const { code, stderr } = await installs({ uid: "1000" });
    const address = `https://localhost:${server.port}/`;
    expect({ code, stderr }).toEqual({
      code: 1,
      stderr: `install.sh: this needs root: sudo sh install.sh ${address}; nothing was installed\n`,
    });
    for (const words of [[], ["http://localhost/"], [address.slice(0, -1)], ["/srv/"]])
      expect(await installs({ words })).toMatchObject({
        code: 1,
        ran: null,
        stderr: expect.stringContaining("name the folder of a release"),
      });
  });

  test("the script has no key", async () => {
    show();
    writeFileSync(script, TEMPLATE.replace("@SIGNERS@", ""));
    expect((await installs()).stderr).toContain("this copy has no key to verify with");
    writeFileSync(script, TEMPLATE);
    expect((await installs()).stderr).toContain("this copy has no key to verify with");
  });
});

test("a script that is cut short at any place installs nothing", async () => {
  show();
  const whole = readFileSync(script, "utf8").trimEnd();
  const last = whole.lastIndexOf("\n");
  // At each line, and at each letter of the last one, which begins the work.
  const cuts = [...whole.matchAll(/\n/g)].map(({ index }) => index + 1);
  for (let at = last + 2; at < whole.length; at += 1) cuts.push(at);
  for (const at of cuts) {
    writeFileSync(script, whole.slice(0, at));
    expect({ at, ran: (await installs()).ran }).toEqual({ at, ran: null });
  }
});
