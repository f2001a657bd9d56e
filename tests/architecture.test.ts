import { expect, test } from "bun:test";
import { existsSync } from "node:fs";
import { dirname, join, relative } from "node:path";
import { Glob } from "bun";
import { foreignAssignments, lateReferences, longFunctions } from "./parsed.ts";

const SRC = join(import.meta.dir, "../src");
const RIG = join(import.meta.dir, "rig");
const LAB = join(import.meta.dir, "lab");

/**
 * The rooms of `src/`, in order: each may import those before it, and none after it. CONTRIBUTING shows this list. A
 * folder inside a room belongs to it.
 */
const ROOMS = [
  ...["shared", "base"],
  ...["wireguard", "transports", "system", "network", "killswitch", "dhcp", "servers", "store", "access"],
  ...[
    "tunnel",
    "devices",
    "schedules",
    "journal",
    "notifications",
    "history",
    "forwards",
    "port-mapping",
    "remote",
    "destinations",
    "dns",
    "speed",
  ],
  ...["certificates", "checks", "providers", "http", "mqtt", "dashboard", "backup", "operator", "app"],
  ...["install", "update", "sandbox", "access-point", "licenses", "cli", "main.ts"],
];

interface Import {
  file: string;
  /** As the file has it. */
  from: string;
}

/** The folders of `tests/rig/`, in the same way. */
const RIG_ROOMS = [
  ...["tools", "peers", "judges", "home"],
  ...["dashboard", "demo", "suite", "mutants", "boot", "leaks", "gateways", "soak", "bench"],
];

const TEXTS = await textsIn(SRC);
const FILES = [...TEXTS.keys()];
const IMPORTS = importsIn(TEXTS);
/** Imports of other files, by their paths from src. */
const NEAR = nearIn(SRC, IMPORTS);
/** Those of files of src. */
const INNER = NEAR.filter(({ target }) => !target.startsWith(".."));
/** Those that lead out of a folder, with the folders. */
const DOORS = INNER.map((each) => ({ ...each, from: dirname(each.file), to: dirname(each.target) })).filter(
  ({ from, to }) => from !== to,
);

async function textsIn(root: string): Promise<ReadonlyMap<string, string>> {
  const files = [...new Glob("**/*.{ts,tsx}").scanSync(root)].toSorted();
  const texts = files.map(async (file) => [file, await Bun.file(join(root, file)).text()] as const);
  return new Map(await Promise.all(texts));
}

function importsIn(texts: ReadonlyMap<string, string>): Import[] {
  const each = /(?:\bfrom|^import|\bimport\()\s*["']([^"']+)["']/gm;
  return [...texts].flatMap(([file, text]) =>
    [...text.matchAll(each)].map(([, from = ""]) => ({ file, from })),
  );
}

/** Imports of files, by their paths from the root. */
function nearIn(root: string, imports: readonly Import[]): { file: string; target: string }[] {
  return imports
    .filter(({ from }) => from.startsWith("."))
    .map(({ file, from }) => ({ file, target: relative(root, join(root, dirname(file), from)) }));
}

/** A folder directly in `src`, or a file there. */
function roomOf(path: string): string {
  return path.split("/")[0] ?? path;
}

/** The circles of a graph, each as "a -> b -> a". */
function circlesIn(edges: Iterable<readonly [from: string, to: string]>): string[] {
  const next = Map.groupBy(edges, ([from]) => from);
  const done = new Set<string>();
  const circles: string[] = [];
  const visit = (node: string, way: readonly string[]) => {
    if (way.includes(node)) circles.push([...way.slice(way.indexOf(node)), node].join(" -> "));
    if (way.includes(node) || done.has(node)) return;
    for (const [, to] of next.get(node) ?? []) visit(to, [...way, node]);
    done.add(node);
  };
  for (const node of next.keys()) visit(node, []);
  return circles;
}

test("src imports nothing from around it but the version", () => {
  const outer = NEAR.filter(({ target }) => target.startsWith(".."));
  expect(new Set(outer.map(({ target }) => target))).toEqual(new Set(["../package.json"]));
});

test("every file has a room", () => {
  expect(new Set(FILES.map(roomOf))).toEqual(new Set(ROOMS));
});

test("no room imports one that comes after it", () => {
  const wrong = DOORS.filter(
    ({ file, target }) => ROOMS.indexOf(roomOf(file)) < ROOMS.indexOf(roomOf(target)),
  );
  expect(DOORS.length).toBeGreaterThan(100);
  expect(wrong.map(({ file, target }) => `${file} -> ${target}`)).toEqual([]);
});

test("CONTRIBUTING shows the rooms in this order", async () => {
  const text = await Bun.file(join(SRC, "../CONTRIBUTING.md")).text();
  const map = text.slice(text.indexOf("| Room |"), text.indexOf("| Question |"));
  const shown = [...map.matchAll(/^\| (`[^|]*) \|/gm)].flatMap(([, names = ""]) =>
    [...names.matchAll(/`([\w.-]+)\/?`/g)].map(([, name]) => name),
  );
  expect(shown).toEqual(ROOMS);
});

test("the page's parts know no view, and a view knows no other; but the first steps show servers", () => {
  const views = DOORS.filter(({ to }) => to.startsWith("dashboard/views"));
  expect(
    new Set(
      views
        .filter(({ from }) => from !== "dashboard" && from !== "dashboard/views")
        .map(({ from, to }) => `${from} -> ${to}`),
    ),
  ).toEqual(new Set(["dashboard/views/setup -> dashboard/views/servers"]));
});

test("no two files import each other, by whatever way round", () => {
  expect(circlesIn(INNER.map(({ file, target }) => [file, target] as const))).toEqual([]);
});

test("no folder of the rig imports one that comes after it, and no two files import each other", async () => {
  const inner = nearIn(RIG, importsIn(await textsIn(RIG))).filter(({ target }) => !target.startsWith(".."));
  const folders = inner.map(({ file, target }) => [dirname(file), dirname(target)] as const);
  expect(new Set(folders.flat())).toEqual(new Set(RIG_ROOMS));
  const wrong = inner.filter(
    ({ file, target }) => RIG_ROOMS.indexOf(dirname(file)) < RIG_ROOMS.indexOf(dirname(target)),
  );
  expect(wrong).toEqual([]);
  expect(circlesIn(inner.map(({ file, target }) => [file, target] as const))).toEqual([]);
});

/**
 * What a lab may import of the rig: what labs are made of, and in a folder with the name of one of the rig's, that and what
 * comes before it.
 */
function labMayImport(file: string, room: string): boolean {
  const last = Math.max(RIG_ROOMS.indexOf(dirname(file)), RIG_ROOMS.indexOf("home"));
  return RIG_ROOMS.indexOf(room) <= last;
}

test("a lab imports what labs are made of, and of the rest of the rig what it tests; and no two labs import each other", async () => {
  const near = nearIn(LAB, importsIn(await textsIn(LAB)));
  const ofRig = near.flatMap(({ file, target }) => {
    const [, room] = /^\.\.\/rig\/([^/]+)\//.exec(target) ?? [];
    return room === undefined ? [] : [{ file, room }];
  });
  expect(ofRig.length).toBeGreaterThan(100);
  expect(ofRig.filter(({ file, room }) => !labMayImport(file, room))).toEqual([]);
  expect(circlesIn(near.map(({ file, target }) => [file, target] as const))).toEqual([]);
});

test("until the kill switch is under way, a start loads no library that it does not need", () => {
  const transpiler = new Bun.Transpiler({ loader: "ts" });
  const loaded = new Set<string>();
  const load = (file: string) => {
    loaded.add(file);
    // Without the imports of types only, and those that are made later.
    const text = (TEXTS.get(file) ?? "").replace(/^#!.*/, "");
    const imports = transpiler.scanImports(text);
    for (const { path } of imports.filter(({ kind }) => kind === "import-statement")) {
      const target = path.startsWith(".") ? relative(SRC, join(SRC, dirname(file), path)) : path;
      if (!loaded.has(target)) load(target);
    }
  };
  for (const file of ["main.ts", "app/serve.ts"]) load(file);
  const libraries = [...loaded].filter((each) => !/^(node|bun):|\.(ts|json|txt)$/.test(each));
  expect(libraries.toSorted()).toEqual([
    "commander",
    "ipaddr.js",
    "typebox",
    "typebox/compile",
    "typebox/value",
  ]);
  expect(loaded.size).toBeGreaterThan(30);
});

test("a provider is named in the list of providers, and nowhere else outside its folder", () => {
  const naming = INNER.filter(
    ({ file, target }) => /^providers\/[^/]+\//.test(target) && dirname(file) !== dirname(target),
  );
  expect(new Set(naming.map(({ file }) => file))).toEqual(new Set(["providers/list.ts"]));
});

test("the kill switch has one writer; what is loaded at boot is text from the same functions", () => {
  const importing = (name: string) =>
    [...TEXTS]
      .filter(([, text]) => new RegExp(`import \\{[^}]*\\b${name}\\b`).test(text))
      .map(([file]) => file);
  expect(importing("LoadedLayers")).toEqual(["killswitch/killswitch.ts"]);
  expect(importing("applyRules")).toEqual(["killswitch/loaded-layers.ts"]);
  expect(importing("LoadedTable")).toEqual(["killswitch/loaded-layers.ts"]);
  expect(importing("loadTable")).toEqual(["killswitch/loaded-table.ts"]);
  const changing = [...TEXTS].filter(([, text]) => text.includes("host.changeElements("));
  expect(changing.map(([file]) => file)).toEqual(["killswitch/loaded-table.ts"]);
  expect(importing("wantedFor")).toEqual(["killswitch/killswitch.ts"]);
  expect(importing("openRulesetOf")).toEqual(["killswitch/wanted.ts"]);
  expect(importing("rulesetOf")).toEqual(["killswitch/boot-files.ts", "killswitch/wanted.ts"]);
});

test("what the operator wants of the kill switch has one writer", () => {
  const writing = [...TEXTS].filter(([, text]) => text.includes("KILL_SWITCH.write("));
  expect(writing.map(([file]) => file)).toEqual(["killswitch/operator-switch.ts"]);
});

test("tunnels, kill switch, devices and schedules have clocks, timers and chance from the machine only", () => {
  const own =
    /\b(setTimeout|setInterval|setImmediate|Date\.now|performance\.now|Math\.random|Bun\.sleep|AbortSignal\.timeout)\b|(?<!\.)\bnextTurn\(/;
  const using = [...TEXTS].filter(([, text]) => own.test(text)).map(([file]) => file);
  const rooms = ["tunnel", "killswitch", "devices", "schedules"];
  expect(using.filter((file) => rooms.includes(roomOf(file)))).toEqual([]);
  expect(using).toContain("system/linux.ts");
});

/** What puts the parts together: longer than this, nobody sees what knows what. */
const MAX_LINES = 60;

test("each part knows only those that are made before it and is whole once it is made, and no function that makes them is long", () => {
  const app = [...TEXTS].filter(([file]) => roomOf(file) === "app");
  expect(app.length).toBeGreaterThan(10);
  for (const [file, text] of app) {
    expect([file, lateReferences(text)]).toEqual([file, []]);
    expect([file, foreignAssignments(text)]).toEqual([file, []]);
    expect([file, longFunctions(text, MAX_LINES)]).toEqual([file, []]);
  }
});

test("a reference to what is made later is seen in a closure too, and one that is hidden or a field is not", () => {
  const text = `function parts(given) {
  const made = { later: 1, tell: () => later.tell(), other: (later) => later };
  const later = { made };
  const { field, other: renamed } = later;
  return [made.field, () => { const field = 1; return renamed + field; }];
}`;
  expect(lateReferences(text)).toEqual(["line 2: later"]);
  expect(longFunctions(text, 5)).toEqual(["line 1: 6 lines"]);
});

test("an assignment to a field of another is seen, in a closure and with a bracket too, and one to a variable is not", () => {
  const text = `function parts(part, other) {
  part.deviceAt = () => { other.made.later ??= 1; other["last"] = 2; };
  let found = null;
  found = part.deviceAt;
}
class Part { constructor() { this.own = 1; } }`;
  expect(foreignAssignments(text)).toEqual([
    "line 2: part.deviceAt",
    "line 2: other.made.later",
    'line 2: other["last"]',
  ]);
});

test("relative imports name the file, with its ending", () => {
  expect(
    IMPORTS.filter(({ from }) => from.startsWith(".") && !/\.(tsx?|css|html|js|gz|json|txt)$/.test(from)),
  ).toEqual([]);
});

test("the page in the browser takes only types, what is shared, and what makes a device's file from the rest of the house", () => {
  const statement = /^(?:import|export) (type )?[^;]*?from "(\.[^"]*)";$/gm;
  const outer = [...TEXTS].flatMap(([file, text]) =>
    [...text.matchAll(statement)]
      .map(([, type, from = ""]) => ({ file, type, target: join(dirname(file), from) }))
      .filter(({ target }) => file.startsWith("dashboard/") && !target.startsWith("dashboard/")),
  );
  const values = outer.filter(({ type }) => type === undefined);
  expect(new Set(values.map(({ target }) => target))).toEqual(
    new Set([
      ...[
        "shared/bounds.ts",
        "shared/exits.ts",
        "shared/quotas.ts",
        "shared/words.ts",
        "shared/page-answers.ts",
        "shared/pauses.ts",
        "shared/message-key.ts",
        "shared/network-id.ts",
        "shared/saying.ts",
        "shared/verdict.ts",
        "shared/verdict-texts.ts",
        "shared/zip.ts",
        "shared/services.ts",
        "shared/block-lists.ts",
        "shared/config-files.ts",
        "shared/message-format.ts",
        "shared/languages.ts",
      ],
      ...["shared/qr-code.ts", "wireguard/key.ts", "remote/client-file.ts"],
    ]),
  );
  expect(outer.length).toBeGreaterThan(5);
});

test("every file that CONTRIBUTING names is there", async () => {
  const text = await Bun.file(join(SRC, "../CONTRIBUTING.md")).text();
  const named = [...text.matchAll(/(?<![\w./-])(?:[\w-]+\/)*[\w-]+\.tsx?\b/g)].map(([path]) => path);
  const places = ["src", "src/dashboard", "tests", "."];
  const isThere = (path: string) => places.some((place) => existsSync(join(SRC, "..", place, path)));
  expect(named.length).toBeGreaterThan(30);
  expect(named.filter((path) => !isThere(path))).toEqual([]);
});

test("only system/ starts programs", () => {
  const spawning = [...TEXTS].filter(([, text]) =>
    /\bBun\.(spawn|spawnSync|\$)|child_process|\{[^}]*\b(spawn|\$)\b[^}]*\} from "bun"/.test(text),
  );
  const outside = spawning.map(([file]) => file).filter((file) => roomOf(file) !== "system");
  // It runs while the executable is built, and is not in it.
  expect(outside).toEqual(["http/dashboard/bundle.ts"]);
  expect(TEXTS.get("http/dashboard/files.ts")).toContain('"./bundle.ts" with { type: "macro" }');
});

test("there is one TypeBox in the house", () => {
  expect(IMPORTS.filter(({ from }) => from.startsWith("@sinclair/typebox"))).toEqual([]);
});

test("text becomes an address in one file, and messages of DNS are read without a library", () => {
  const using = (name: string) => IMPORTS.filter(({ from }) => from === name).map(({ file }) => file);
  expect([using("ipaddr.js"), using("dns-packet")]).toEqual([["base/address.ts"], []]);
});

test("no package runs a program of its own when it is installed", async () => {
  const { default: settings } = await import("../bunfig.toml");
  expect(settings).toMatchObject({ install: { ignoreScripts: true } });
});

/** Whose errors only a terminal shows: commands, and the start of the service with its flags. */
const OF_COMMANDS =
  /^(cli|install|update|sandbox|access-point|dhcp|operator)\/|^(app\/service|base\/settings|certificates\/given-files|killswitch\/operator-switch|system\/(claim|machine))\.ts$/;

test("an error that a client can get is a row, so that the page tells it in each language", () => {
  const faults = [...TEXTS].flatMap(([file, text]) => [
    ...(/new GatewayError\(/.test(text) && !/^base\/(errors|refusals)\.ts$/.test(file) ? [file] : []),
    ...(/new CommandError\(/.test(text) && !OF_COMMANDS.test(file) ? [`${file}: of a command`] : []),
  ]);
  expect(faults).toEqual([]);
});

test("each row of errors is used", () => {
  const rows = [...TEXTS].filter(([file]) => /refusals\.ts$/.test(file));
  const others = [...TEXTS].flatMap(([file, text]) =>
    /refusals\.ts$/.test(file) ? [] : [...text.matchAll(/"([a-z]\w+)"/g)].map(([, word]) => word),
  );
  const used = new Set(others);
  const names = rows.flatMap(([, text]) => {
    const own = [...text.matchAll(/^(?: {4}| {2}\S.*: \{ )([a-z]\w+):/gm)].map(([, name]) => name);
    expect(own).toEqual([...new Set(own)]);
    return own;
  });
  expect(names.length).toBeGreaterThan(350);
  expect(names.filter((name) => !used.has(name))).toEqual([]);
});
