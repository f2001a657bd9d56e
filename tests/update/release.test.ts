import { describe, expect, test } from "bun:test";
import type { Running } from "../../src/update/archive.ts";
import { chosenFrom, releaseOf } from "../../src/update/release.ts";

const SUM = "0123456789abcdef".repeat(4);
const line = (name: string) => `${SUM}  ${name}\n`;
const NAMES = [
  ...["arm64", "x64"].map((target) => `portcullis-1.2.3-linux-${target}.tar.xz`),
  ...["arm64", "amd64"].map((target) => `portcullis_1.2.3_${target}.deb`),
  "portcullis-1.2.3.cdx.json",
  "notes.md",
  "install.sh",
];
const LIST = NAMES.map(line).join("");
const here: Running = { version: "1.0.0", kind: "archive", architecture: "arm64" };

test("a list of checksums is a release, whose version is that of its archives", () => {
  const { version, archives, sums } = releaseOf(LIST);
  expect(version).toBe("1.2.3");
  expect(archives.map(({ name }) => name)).toEqual(NAMES.slice(0, 4));
  expect([...sums.keys()]).toEqual(NAMES);
  expect(sums.get("notes.md")).toBe(SUM);
  expect(releaseOf(LIST.replaceAll("  ", " *")).version).toBe("1.2.3");
});

describe("a list is refused", () => {
  const two = "line 2 is not a checksum and a plain file name";
  const first = line("portcullis_1.2.3_arm64.deb");
  test.each([
    ["that is empty", "", "line 1 is not a checksum and a plain file name"],
    ["with a path", first + line("../notes.md"), two],
    ["with an absolute path", first + line("/etc/passwd"), two],
    ["with a folder", first + line("a/b"), two],
    ["with a name that looks like an option", first + line("-rf"), two],
    ["with a hidden file", first + line(".bashrc"), two],
    ["with a space in a name", first + line("a b"), two],
    ["with a backslash, as sha256sum escapes names", `${first}\\${line("a\\\\b")}`, two],
    ["with a carriage return", first + line("notes.md\r"), two],
    ["with an empty line", `${first}\n${line("notes.md")}`, two],
    ["with a shorter checksum", `${first}${SUM.slice(1)}  notes.md\n`, two],
    ["with a file twice", first + line("notes.md") + line("notes.md"), "it has notes.md twice"],
    ["without an archive", line("notes.md"), "it has no archive of Portcullis"],
    ["with a version that is none", line("portcullis_01.2.3_arm64.deb"), "it has no archive of Portcullis"],
    [
      "with two versions",
      first + line("portcullis-1.2.4-linux-x64.tar.xz"),
      "it has files of several versions: 1.2.3, 1.2.4",
    ],
    ["without end", first.repeat(101), "it has more than 100 lines"],
  ])("%s", (_, text, why) => {
    expect(() => releaseOf(text)).toThrow(`SHA256SUMS is not the list of a release: ${why}`);
  });
});

test.each([
  ["an arm64 machine", here, "portcullis-1.2.3-linux-arm64.tar.xz"],
  ["an x64 machine", { ...here, architecture: "x64" }, "portcullis-1.2.3-linux-x64.tar.xz"],
  ["an arm64 package", { ...here, kind: "package" as const }, "portcullis_1.2.3_arm64.deb"],
  [
    "an x64 package",
    { ...here, kind: "package" as const, architecture: "x64" },
    "portcullis_1.2.3_amd64.deb",
  ],
])("%s gets its own file", (_, running, name) => {
  expect(chosenFrom(releaseOf(LIST), running, null).name).toBe(name);
  expect(chosenFrom(releaseOf(LIST), running, name).name).toBe(name);
});

test("a release without a file for this machine is refused", () => {
  const list = releaseOf(line("portcullis-1.2.3-linux-x64.tar.xz"));
  expect(() => chosenFrom(list, here, null)).toThrow(
    "this release has no .tar.xz archive for arm64, which this machine needs",
  );
});

test.each([
  [
    "for another architecture",
    "portcullis-1.2.3-linux-x64.tar.xz",
    "portcullis-1.2.3-linux-x64.tar.xz is for x64, but this machine needs arm64",
  ],
  [
    "of the other kind",
    "portcullis_1.2.3_arm64.deb",
    "portcullis_1.2.3_arm64.deb is a .deb package, but this Portcullis was installed from a .tar.xz archive; name the release's folder to get the right file",
  ],
  [
    "of another release",
    "portcullis-1.2.4-linux-arm64.tar.xz",
    "SHA256SUMS does not have portcullis-1.2.4-linux-arm64.tar.xz: it is not of this release",
  ],
])("an archive %s is refused, even if it is named", (_, name, why) => {
  expect(() => chosenFrom(releaseOf(LIST), here, name)).toThrow(why);
});
