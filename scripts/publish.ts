// Makes a draft of dist/release on the forge that runs this. The interface of GitHub is also that of Forgejo and Gitea
// (https://docs.github.com/rest/releases, https://codeberg.org/api/swagger). A person publishes the draft.
import { readdirSync } from "node:fs";
import { join } from "node:path";
import { version } from "../package.json";

const { GITHUB_API_URL, GITHUB_REPOSITORY, GITHUB_TOKEN } = process.env;
const FOLDER = "dist/release";

async function post(url: string, type: string, body: string | Blob): Promise<{ upload_url: string }> {
  const headers = { authorization: `token ${GITHUB_TOKEN}`, "content-type": type };
  const answer = await fetch(url, { method: "POST", headers, body });
  if (!answer.ok) throw new Error(`${url}: ${answer.status} ${await answer.text()}`);
  return (await answer.json()) as { upload_url: string };
}

const tag = `v${version}`;
const body = await Bun.file(join(FOLDER, "notes.md")).text();
const release = JSON.stringify({ tag_name: tag, name: tag, body, draft: true });
const { upload_url } = await post(
  `${GITHUB_API_URL}/repos/${GITHUB_REPOSITORY}/releases`,
  "application/json",
  release,
);
// GitHub's ends with a template: {?name,label}.
const upload = upload_url.replace(/\{.*$/, "");
for (const name of readdirSync(FOLDER).sort()) {
  const file = Bun.file(join(FOLDER, name));
  await post(`${upload}?name=${encodeURIComponent(name)}`, "application/octet-stream", file);
  console.log(`${tag}: ${name}`);
}
