import { readFileSync } from "node:fs";
import { dirname, join } from "node:path";
import { Glob } from "bun";

/** Which files import one, directly or through others. */
export class Importers {
  readonly #importing: ReadonlyMap<string, readonly string[]>;

  constructor() {
    const transpiler = {
      ts: new Bun.Transpiler({ loader: "ts" }),
      tsx: new Bun.Transpiler({ loader: "tsx" }),
    };
    const edges = [...new Glob("{src,tests}/**/*.{ts,tsx}").scanSync(".")].flatMap((file) => {
      const text = readFileSync(file, "utf8").replace(/^#!.*/, "");
      // Without the imports of types.
      return transpiler[file.endsWith("x") ? "tsx" : "ts"]
        .scanImports(text)
        .filter(({ path }) => path.startsWith("."))
        .map(({ path }) => ({ file, target: join(dirname(file), path) }));
    });
    this.#importing = new Map(
      [...Map.groupBy(edges, ({ target }) => target)].map(([target, all]) => [
        target,
        all.map(({ file }) => file),
      ]),
    );
  }

  /** Those of its room first, and then the nearest: a test of the file itself comes before one of the whole service. */
  of(file: string, among: ReadonlySet<string>): string[] {
    const found = new Set([file]);
    for (const each of found) for (const next of this.#importing.get(each) ?? []) found.add(next);
    const room = dirname(file).replace("src/", "tests/");
    const [own, others] = [true, false].map((isOwn) =>
      [...found].filter((each) => among.has(each) && each.startsWith(`${room}/`) === isOwn),
    );
    return [...(own ?? []), ...(others ?? [])];
  }
}
