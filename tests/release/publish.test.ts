import { afterAll, expect, test } from "bun:test";
import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join, resolve } from "node:path";
import { version } from "../../package.json";

const NAME = `portcullis-${version}-linux-arm64.tar.xz`;
const tree = mkdtempSync(join(tmpdir(), "portcullis-publish-"));
mkdirSync(join(tree, "dist/release"), { recursive: true });
writeFileSync(join(tree, "dist/release/notes.md"), "- New.\n");
writeFileSync(join(tree, "dist/release", NAME), "archive");

afterAll(() => rmSync(tree, { recursive: true }));

/** A forge that answers with this address for uploads; what it was sent. */
async function published(uploadUrl: (origin: string) => string, status = 201) {
  const requests: unknown[] = [];
  const forge: Bun.Server<undefined> = Bun.serve({
    port: 0,
    hostname: "127.0.0.1",
    async fetch(request) {
      const { pathname, search } = new URL(request.url);
      const text = await request.text();
      const { authorization, "content-type": type } = request.headers.toJSON() as Record<string, string>;
      requests.push([request.method, pathname + search, authorization, type, text]);
      return Response.json({ upload_url: uploadUrl(forge.url.origin) }, { status });
    },
  });
  const child = Bun.spawn([process.execPath, resolve("scripts/publish.ts")], {
    cwd: tree,
    env: {
      ...process.env,
      GITHUB_API_URL: `${forge.url.origin}/api/v1`,
      GITHUB_REPOSITORY: "us/portcullis",
      GITHUB_TOKEN: "secret",
    },
    stdout: "pipe",
    stderr: "pipe",
  });
  const [code, said] = await Promise.all([child.exited, new Response(child.stderr).text()]);
  await forge.stop(true);
  return { code, said, requests };
}

const draft = { tag_name: `v${version}`, name: `v${version}`, body: "- New.\n", draft: true };
const upload = (name: string, text: string) => [
  "POST",
  `/uploads/7/assets?name=${name}`,
  "token secret",
  "application/octet-stream",
  text,
];

test.each([
  ["GitHub's", (origin: string) => `${origin}/uploads/7/assets{?name,label}`],
  ["Forgejo's", (origin: string) => `${origin}/uploads/7/assets`],
])("a release becomes a draft with each of its files, by %s interface", async (_, uploadUrl) => {
  const { code, requests } = await published(uploadUrl);
  expect(code).toBe(0);
  expect(requests).toEqual([
    [
      "POST",
      "/api/v1/repos/us/portcullis/releases",
      "token secret",
      "application/json",
      JSON.stringify(draft),
    ],
    upload("notes.md", "- New.\n"),
    upload(NAME, "archive"),
  ]);
});

test("a forge that refuses ends it, and the token is not told", async () => {
  const { code, said, requests } = await published((origin) => origin, 403);
  expect(code).toBe(1);
  expect(requests).toHaveLength(1);
  expect(said).toContain("/api/v1/repos/us/portcullis/releases: 403");
  expect(said).not.toContain("secret");
});
