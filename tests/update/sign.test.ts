import { afterAll, beforeAll, expect, test } from "bun:test";
import { cpSync, existsSync, mkdirSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { type Key, run, Workshop } from "./made.ts";

const ROOT = join(import.meta.dir, "../..");

let workshop: Workshop;
let tree: string;
let list: string;

beforeAll(() => {
  workshop = new Workshop();
  tree = join(workshop.folder, "tree");
  list = join(tree, "SHA256SUMS");
  for (const folder of ["scripts", "src/update"]) mkdirSync(join(tree, folder), { recursive: true });
  cpSync(join(ROOT, "scripts/sign"), join(tree, "scripts/sign"));
  writeFileSync(list, "a list\n");
});
afterAll(() => workshop.close());

function sign(key: Pick<Key, "file">, signers: string, ...files: string[]) {
  const known = readFileSync(join(ROOT, "src/update/signers.txt"), "utf8");
  writeFileSync(join(tree, "src/update/signers.txt"), known + signers);
  rmSync(`${list}.sig`, { force: true });
  const env = { PATH: process.env.PATH, PORTCULLIS_RELEASE_KEY: key.file };
  const { exitCode, stderr } = Bun.spawnSync(["sh", join(tree, "scripts/sign"), ...files], { env });
  return { exitCode, stderr: stderr.toString(), isSigned: existsSync(`${list}.sig`) };
}

test("a key that the tree has signs, and what it signs can be verified", () => {
  expect(sign(workshop.key, workshop.key.signers)).toEqual({ exitCode: 0, stderr: "", isSigned: false });
  expect(sign(workshop.key, workshop.key.signers, list)).toMatchObject({ exitCode: 0, isSigned: true });
  const signers = join(tree, "src/update/signers.txt");
  const who = ["-f", signers, "-I", "portcullis", "-n", "portcullis-release", "-s", `${list}.sig`];
  expect(run(["sh", "-c", 'exec ssh-keygen -Y verify "$@" <"$0"', list, ...who])).toStartWith(
    'Good "portcullis-release" signature for portcullis',
  );
});

test("a key that the tree does not have, or only for something else, signs nothing", () => {
  const other = workshop.makeKey("other");
  const { file } = other;
  const refused = { exitCode: 1, isSigned: false };
  const why = `${file}.pub is not in ${tree}/scripts/../src/update/signers.txt; see CONTRIBUTING.md, "A release".\n`;
  for (const files of [[], [list]]) {
    expect(sign(other, workshop.key.signers, ...files)).toEqual({ ...refused, stderr: why });
    expect(sign(other, "", ...files)).toEqual({ ...refused, stderr: why });
    expect(sign(other, other.signers.replace("-release", ""), ...files)).toEqual({ ...refused, stderr: why });
    expect(sign(other, other.signers.replace(/^portcullis /m, "#portcullis "), ...files)).toMatchObject(
      refused,
    );
  }
  expect(sign({ file: `${file}-missing` }, other.signers, list)).toMatchObject(refused);
});

test("a public half beside another key signs nothing", () => {
  const [one, two] = [workshop.makeKey("one"), workshop.makeKey("two")];
  cpSync(`${one.file}.pub`, `${two.file}.pub`);
  const { exitCode, isSigned } = sign(two, one.signers, list);
  expect({ isDone: exitCode === 0, isSigned }).toEqual({ isDone: false, isSigned: false });
});
