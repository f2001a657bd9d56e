import { expect } from "bun:test";
import { mkdtempSync, readFileSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { licensesText } from "../../src/licenses/licenses.ts";
import { PACKAGES } from "../../src/licenses/packages.ts";
import { slow } from "../fast.ts";

const { test } = slow;

/** The folders of the packages of which the bundler takes a part, below node_modules. */
function bundledPackages(entry: string, target: "bun" | "browser"): string[] {
  const folder = mkdtempSync(join(tmpdir(), "portcullis-bundle-"));
  try {
    const metafile = join(folder, "meta.json");
    const argv = [
      "build",
      entry,
      "--target",
      target,
      "--splitting",
      "--format=esm",
      "--outdir",
      join(folder, "out"),
    ];
    const { success, stderr } = Bun.spawnSync([process.execPath, ...argv, `--metafile=${metafile}`]);
    if (!success) throw new Error(`${stderr}`);
    const inputs = Object.keys((JSON.parse(readFileSync(metafile, "utf8")) as { inputs: object }).inputs);
    return inputs.flatMap(
      (path) => /node_modules\/((?:.*node_modules\/)?(?:@[^/]+\/)?[^/]+)\//.exec(path)?.[1] ?? [],
    );
  } finally {
    rmSync(folder, { recursive: true });
  }
}

test("the licenses are those of every npm package inside the executable, and of no other", () => {
  const bundled = [
    ...bundledPackages("src/main.ts", "bun"),
    ...bundledPackages("src/dashboard/index.html", "browser"),
  ];
  expect([...new Set(bundled)].sort()).toEqual([...PACKAGES].sort());
});

test("each package is named with its version, its license and the text of it", () => {
  const text = licensesText();
  expect(text).toStartWith(
    "Portcullis is one executable with the parts of others. Its own license:\n\nMIT License\n",
  );
  const headings = text.match(/^### .*$/gm) ?? [];
  expect(headings).toHaveLength(PACKAGES.length);
  expect(
    headings.filter(
      (heading) => !/^### \S+ \d+\.\d+\.\d+ \((MIT|ISC|Apache-2\.0|BSD-3-Clause)\)$/.test(heading),
    ),
  ).toEqual([]);
  // The page of the documentation has React and others inside, which its own file lists.
  expect(text).toContain("react.production.min.js");
});
