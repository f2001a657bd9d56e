import { afterAll, beforeAll, expect, setDefaultTimeout, test } from "bun:test";
import { join } from "node:path";
import { version } from "../../package.json";
import type { OperatorAnswers, OperatorRequests } from "../../src/operator/operator.ts";
import { answerOn } from "../../src/operator/socket.ts";
import type { HttpsRequest, PinnedRequest } from "../../src/system/host.ts";
import { needsRoot } from "../fast.ts";
import { makeCertificate } from "../system/certificate.ts";
import { Workshop } from "../update/made.ts";
import { programTrusting } from "../update/signed-program.ts";

setDefaultTimeout(240_000);

let workshop: Workshop;
let program: string[];

beforeAll(() => {
  workshop = new Workshop();
  program = programTrusting(workshop);
});
afterAll(() => workshop.close());

async function update(...args: string[]) {
  const state = ["--state-dir", workshop.folder];
  const child = Bun.spawn([...program, "update", ...args, ...state], {
    env: { ...process.env, NODE_EXTRA_CA_CERTS: join(workshop.folder, "certificate.pem") },
    stdout: "pipe",
    stderr: "pipe",
  });
  const [stdout, stderr, code] = await Promise.all([child.stdout.text(), child.stderr.text(), child.exited]);
  return { code, stdout, stderr };
}

needsRoot.describe("--check", () => {
  test("shows a newer release and what is new, by exit code 4", async () => {
    const folder = workshop.release();
    const { code, stdout, stderr } = await update(folder, "--check");
    expect({ code, stderr }).toEqual({ code: 4, stderr: "" });
    expect(stdout).toMatch(
      new RegExp(
        `^Portcullis 9\\.2\\.0 \\(portcullis-9\\.2\\.0-linux-[a-z0-9-]+\\.tar\\.xz\\) is signed by its release key\\. This machine has ${version}\\.\n\n## \\[9\\.2\\.0\\]`,
      ),
    );
    expect(JSON.parse((await update(folder, "--check", "--json")).stdout)).toEqual({
      success: true,
      current: version,
      offered: "9.2.0",
      newer: true,
      file: expect.stringMatching(/^portcullis-9\.2\.0-linux-[a-z0-9-]+\.tar\.xz$/),
      notes: expect.stringContaining("- Newest."),
    });
  });

  test("says that the same version is up to date, by exit code 0", async () => {
    const folder = workshop.release({ version });
    expect(await update(folder, "--check")).toEqual({
      code: 0,
      stdout: `Portcullis ${version} is up to date.\n`,
      stderr: "",
    });
  });

  test("refuses what is not signed, in JSON too", async () => {
    const folder = workshop.release({ key: workshop.makeKey("other") });
    const { code, stdout } = await update(folder, "--check", "--json");
    expect({ code, ...JSON.parse(stdout) }).toEqual({
      code: 1,
      success: false,
      error: expect.stringContaining("SHA256SUMS is not signed by Portcullis's release key"),
    });
  });
});

needsRoot.test("usage errors have exit code 2", async () => {
  expect((await update()).code).toBe(2);
  expect(await update("--json", "/")).toMatchObject({ code: 2 });
  expect(await update("--check", "http://example.test/")).toMatchObject({
    code: 2,
    stderr: "portcullis: the address of a release begins with https://\n",
  });
});

needsRoot.test.skipIf(await Bun.file("/usr/local/bin/portcullis").exists())(
  "a machine on which nothing is installed is not upgraded",
  async () => {
    expect((await update(workshop.release(), "--yes")).stderr).toBe(
      "portcullis: Portcullis is not installed on this machine; to install it: sudo portcullis install\n",
    );
  },
);

needsRoot.describe("from an address", () => {
  const OTHER = "; or copy the release's files to this machine, and name their folder\n";
  let server: Bun.Server<undefined>;
  let shown: string;
  let asked: string[] = [];

  beforeAll(async () => {
    const { certificate, key } = await makeCertificate(workshop.folder, "files.test");
    shown = workshop.release();
    server = Bun.serve({
      hostname: "127.0.0.1",
      port: 0,
      tls: { cert: Bun.file(certificate), key: Bun.file(key) },
      fetch: (request) => {
        const { pathname } = new URL(request.url);
        asked.push(pathname.slice(1));
        return new Response(Bun.file(join(shown, pathname)));
      },
    });
  });
  afterAll(() => server.stop(true));

  /** Looks at the address, while a service lets so many requests go by the tunnel, and any others otherwise. */
  async function check(inside: number, then: "directly" | "on the LAN" = "directly") {
    asked = [];
    let count = 0;
    const serving = new AbortController();
    const pin = async (request: HttpsRequest): Promise<PinnedRequest | null> => {
      count += 1;
      if (count > inside) return then === "directly" ? null : { ...request, addresses: ["127.0.0.1"] };
      return { ...request, addresses: ["127.0.0.1"], ownAddresses: ["127.0.0.1"] };
    };
    answerOn<OperatorRequests>(
      join(workshop.folder, "operator.sock"),
      { "update/pin": pin } as OperatorAnswers,
      serving.signal,
    );
    try {
      return await update("--check", `https://files.test:${server.port}/`);
    } finally {
      serving.abort();
    }
  }

  test("each file is fetched as the service says", async () => {
    expect(await check(3)).toMatchObject({ code: 4, stderr: "" });
    expect(asked).toEqual(["SHA256SUMS", "SHA256SUMS.sig", "notes.md"]);
  });

  test("a server on the internet leads nowhere on the LAN", async () => {
    const { code, stderr } = await check(1, "on the LAN");
    expect({ code, stderr }).toEqual({
      code: 1,
      stderr: `portcullis: files.test:${server.port} is on the LAN, and a redirect from the internet to there is not followed${OTHER}`,
    });
    expect(asked).toHaveLength(1);
  });

  test("what has begun in a tunnel does not go on outside it, even if it may", async () => {
    for (const inside of [1, 2]) {
      const { code, stderr } = await check(inside);
      expect({ code, stderr }).toEqual({
        code: 1,
        stderr: `portcullis: the tunnel has ended; connect again${OTHER}`,
      });
      expect(asked).toHaveLength(inside);
    }
  });
});
