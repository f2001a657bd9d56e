import { expect, test } from "bun:test";
import { dirname, join, relative } from "node:path";
import { Glob } from "bun";

const SRC = join(import.meta.dir, "../src");

/** Each layer may import those before it, and its own. */
const LAYERS: readonly (readonly string[])[] = [
  ["errors.ts"],
  ["address.ts"],
  ["settings.ts"],
  ["log.ts"],
  ["system"],
  ["wireguard"],
  ["firewall"],
  ["routing", "servers"],
  ["tunnel"],
  ["account"],
  ["backup"],
  ["http"],
  ["sandbox"],
  ["install"],
  ["operator.ts", "gateway.ts"],
  ["serve.ts", "killswitch.ts"],
  ["cli"],
  ["main.ts"],
];

/** Neighbours in a layer do not import each other; nothing but the command line needs the network in a box. */
const NOT_ALLOWED: readonly (readonly [importer: string, imported: string])[] = [
  ["routing", "servers"],
  ["servers", "routing"],
  ["serve.ts", "sandbox"],
  ["sandbox", "http"],
  ["install", "sandbox"],
  ["install", "http"],
];

interface Import {
  file: string;
  from: string;
}

const FILES = [...new Glob("**/*.ts").scanSync(SRC)].toSorted();
const TEXTS = new Map(
  await Promise.all(FILES.map(async (file) => [file, await Bun.file(join(SRC, file)).text()] as const)),
);
const IMPORTS: Import[] = [...TEXTS].flatMap(([file, text]) =>
  [...text.matchAll(/(?:\bfrom|^import|\bimport\()\s*["']([^"']+)["']/gm)].map(([, from = ""]) => ({
    file,
    from,
  })),
);

function partOf(file: string): string {
  return file.split("/")[0] ?? file;
}

function layerOf(file: string): number {
  return LAYERS.findIndex((parts) => parts.includes(partOf(file)));
}

test("every file has a place in the order", () => {
  expect(FILES.filter((file) => layerOf(file) < 0)).toEqual([]);
});

test("no import runs against the order of the folders", () => {
  const inner = IMPORTS.filter(({ from }) => from.startsWith(".")).map(({ file, from }) => ({
    file,
    target: relative(SRC, join(SRC, dirname(file), from)),
  }));
  const against = inner.filter(
    ({ file, target }) =>
      !target.startsWith("..") &&
      (layerOf(target) > layerOf(file) ||
        NOT_ALLOWED.some(([importer, imported]) => partOf(file) === importer && partOf(target) === imported)),
  );
  expect(inner.length).toBeGreaterThan(50);
  expect(against).toEqual([]);
});

test("the firewall's text is no business of routing: it imports the policy alone", () => {
  const ofFirewall = IMPORTS.filter(
    ({ file, from }) => partOf(file) === "routing" && from.includes("/firewall/"),
  );
  expect(new Set(ofFirewall.map(({ from }) => from))).toEqual(new Set(["../firewall/policy.ts"]));
});

test("relative imports name the file, with its ending", () => {
  expect(
    IMPORTS.filter(({ from }) => from.startsWith(".") && !/\.(ts|css|html|js|gz|json)$/.test(from)),
  ).toEqual([]);
});

test("only system/ starts programs", () => {
  const spawning = [...TEXTS].filter(([, text]) =>
    /\bBun\.(spawn|spawnSync|\$)|child_process|\{[^}]*\b(spawn|\$)\b[^}]*\} from "bun"/.test(text),
  );
  expect([...new Set(spawning.map(([file]) => partOf(file)))]).toEqual(["system"]);
});

test("there is one TypeBox in the house", () => {
  expect(IMPORTS.filter(({ from }) => from.startsWith("@sinclair/typebox"))).toEqual([]);
});
