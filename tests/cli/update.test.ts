import { afterAll, beforeAll, describe, expect, setDefaultTimeout, test } from "bun:test";
import { join } from "node:path";
import { version } from "../../package.json";
import { Workshop } from "../update/made.ts";
import { programTrusting } from "../update/signed-program.ts";

setDefaultTimeout(60_000);

let workshop: Workshop;
let program: string[];

beforeAll(() => {
  workshop = new Workshop();
  program = programTrusting(workshop);
});
afterAll(() => workshop.close());

async function update(...args: string[]) {
  const state = ["--state-dir", join(workshop.folder, "state")];
  const child = Bun.spawn([...program, "update", ...args, ...state], { stdout: "pipe", stderr: "pipe" });
  const [stdout, stderr, code] = await Promise.all([child.stdout.text(), child.stderr.text(), child.exited]);
  return { code, stdout, stderr };
}

describe("--check", () => {
  test("shows a newer release and what is new, by exit code 4", async () => {
    const folder = workshop.release();
    const { code, stdout, stderr } = await update(folder, "--check");
    expect({ code, stderr }).toEqual({ code: 4, stderr: "" });
    expect(stdout).toMatch(
      new RegExp(
        `^Portcullis 9\\.2\\.0 \\(portcullis-9\\.2\\.0-linux-[a-z0-9-]+\\.tar\\.xz\\) is signed by its release key; here is ${version}\\.\n\n## \\[9\\.2\\.0\\]`,
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

test("usage errors have exit code 2", async () => {
  expect((await update()).code).toBe(2);
  expect(await update("--json", "/")).toMatchObject({ code: 2 });
  expect(await update("--check", "http://example.test/")).toMatchObject({
    code: 2,
    stderr: "portcullis: the address of a release begins with https://\n",
  });
});

test.skipIf(await Bun.file("/usr/local/bin/portcullis").exists())(
  "a machine on which nothing is installed is not upgraded",
  async () => {
    expect((await update(workshop.release(), "--yes")).stderr).toBe(
      "portcullis: Portcullis is not installed on this machine; to install it: sudo portcullis install\n",
    );
  },
);
