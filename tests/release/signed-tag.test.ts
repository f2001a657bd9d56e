import { afterAll, beforeAll, beforeEach, expect } from "bun:test";
import { cpSync, mkdirSync, mkdtempSync, rmSync, symlinkSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join, resolve } from "node:path";
import { version } from "../../package.json";
import { slow } from "../fast.ts";

const TAG = `v${version}`;
const SIGNERS = "src/update/signers.txt";

let folder: string;
let tree: string;

/** A tree with one commit, in which everything that `prepare` needs is installed. */
beforeAll(() => {
  folder = mkdtempSync(join(tmpdir(), "portcullis-tag-"));
  tree = join(folder, "tree");
  mkdirSync(join(tree, "src/update"), { recursive: true });
  for (const path of ["scripts/prepare", "scripts/signed-tag", "package.json", "bun.lock", ".gitignore"]) {
    mkdirSync(join(tree, "scripts"), { recursive: true });
    cpSync(path, join(tree, path));
  }
  for (const path of ["node_modules", ".tools"]) symlinkSync(resolve(path), join(tree, path));
  for (const key of ["ours", "another"]) {
    run("ssh-keygen", "-q", "-t", "ed25519", "-N", "", "-f", join(folder, key));
  }
  const line = (namespace: string, name: string) => {
    const [type, key] = run("cat", join(folder, `${name}.pub`)).split(" ");
    return `portcullis namespaces="${namespace}" ${type} ${key}\n`;
  };
  writeFileSync(join(tree, SIGNERS), line("git", "ours") + line("portcullis-release", "another"));
  git("init", "--quiet", "--initial-branch=main");
  git("add", "package.json", SIGNERS);
  git("commit", "--quiet", "--message=one");
});

beforeEach(() => {
  for (const tag of git("tag").split("\n").filter(Boolean)) git("tag", "--delete", tag);
});

afterAll(() => rmSync(folder, { recursive: true, force: true }));

slow.test("a commit that a release key has tagged with its version passes", () => {
  sign("ours", TAG);
  expect(check()).toEqual({ code: 0, said: expect.stringContaining('Good "git" signature for portcullis') });
});

slow.test("a commit without the tag of its version is refused, and so is one after it", () => {
  const untagged = `This commit is not tagged ${TAG}, although that is the version in package.json.\n`;
  expect(check()).toEqual({ code: 1, said: untagged });
  sign("ours", "v99.0.0");
  expect(check()).toEqual({ code: 1, said: untagged });
  sign("ours", TAG);
  git("commit", "--quiet", "--allow-empty", "--message=two");
  expect(check()).toEqual({ code: 1, said: untagged });
});

slow.test("a tag without a signature, and one by a key that is for releases only, are refused", () => {
  git("tag", TAG);
  const nameless = `${TAG} is not a signed tag of that name. Type: git -c gpg.format=ssh -c user.signingKey=<key file> tag --sign ${TAG}\n`;
  expect(check()).toEqual({ code: 1, said: nameless });
  const unsigned = expect.stringContaining(`${TAG} is not signed by a key in ${SIGNERS}.`);
  git("tag", "--force", "--annotate", "--message=unsigned", TAG);
  expect(check()).toEqual({ code: 1, said: unsigned });
  sign("another", TAG);
  expect(check()).toEqual({ code: 1, said: unsigned });
});

slow.test("the signed tag of another version does not count under this one's name", () => {
  sign("ours", "v99.0.0");
  git("update-ref", `refs/tags/${TAG}`, "refs/tags/v99.0.0");
  expect(check().said).toBe(
    `${TAG} is not a signed tag of that name. Type: git -c gpg.format=ssh -c user.signingKey=<key file> tag --sign ${TAG}\n`,
  );
});

function sign(key: string, tag: string): void {
  const settings = ["-c", "gpg.format=ssh", "-c", `user.signingKey=${join(folder, key)}`];
  git(...settings, "tag", "--force", "--sign", "--message=release", tag);
}

function git(...words: string[]): string {
  const author = ["-c", "user.name=Test", "-c", "user.email=test@example.org"];
  return run("git", "-C", tree, ...author, ...words);
}

function check(): { code: number; said: string } {
  const { exitCode, stdout, stderr } = Bun.spawnSync([join(tree, "scripts/signed-tag")]);
  return { code: exitCode, said: `${stdout}${stderr}` };
}

function run(...argv: string[]): string {
  const { success, stdout, stderr } = Bun.spawnSync(argv);
  if (!success) throw new Error(`${argv.join(" ")}: ${stderr}`);
  return stdout.toString();
}
