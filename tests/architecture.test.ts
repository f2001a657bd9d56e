import { expect, test } from "bun:test";
import { existsSync } from "node:fs";
import { dirname, join, relative } from "node:path";
import { Glob } from "bun";

const SRC = join(import.meta.dir, "../src");

/** What every room may import; among themselves in this order. */
const BASICS = ["base", "shared"];

/**
 * The rooms in import order, each with its doors: what it may import, a whole room or a single file of one. A room is
 * a folder, or a file that has a place of its own in the order. A folder inside a folder is another room.
 */
const ROOMS: Readonly<Record<string, readonly string[]>> = {
  system: [],
  wireguard: [],
  network: ["system"],
  killswitch: ["system", "network"],
  dhcp: ["system/host.ts", "system/ip.ts", "system/files.ts", "system/layout.ts", "network"],
  "servers/lists": ["wireguard"],
  servers: ["system/host.ts", "wireguard", "servers/lists"],
  store: ["system/files.ts", "wireguard", "servers"],
  access: ["system/host.ts", "store"],
  tunnel: ["system", "wireguard", "network", "killswitch", "servers", "store"],
  devices: [
    "system/host.ts",
    "system/layout.ts",
    "system/reading.ts",
    "system/files.ts",
    "network",
    "killswitch/policy.ts",
    "store",
    "tunnel/name.ts",
  ],
  schedules: ["system/host.ts", "servers", "tunnel/name.ts", "tunnel/controller.ts", "devices"],
  journal: ["system/host.ts", "servers/schema.ts", "store", "tunnel/schema.ts", "tunnel/state.ts"],
  notifications: ["system/host.ts", "store", "tunnel/state.ts"],
  history: ["system/host.ts", "servers/schema.ts", "store", "tunnel/schema.ts", "tunnel/state.ts", "journal"],
  tunnels: ["system/host.ts", "network", "killswitch", "servers", "tunnel"],
  forwards: [
    "system/host.ts",
    "network/lan.ts",
    "killswitch",
    "servers/schema.ts",
    "tunnel",
    "tunnels/tunnels.ts",
    "devices",
  ],
  "nat-pmp": ["system/host.ts", "network", "killswitch", "tunnel", "forwards"],
  checks: [
    "system",
    "access",
    "network",
    "killswitch",
    "dhcp",
    "servers/hops.ts",
    "store",
    "tunnel",
    "tunnels",
    "forwards/forwards.ts",
    "forwards/schema.ts",
  ],
  "providers/provider.ts": ["system/host.ts", "wireguard/schema.ts"],
  "providers/answers.ts": ["system/host.ts"],
  "providers/keyed-registration.ts": ["wireguard"],
  // Each provider's folder.
  "providers/*": [
    "system/host.ts",
    "wireguard",
    "providers/provider.ts",
    "providers/answers.ts",
    "providers/keyed-registration.ts",
  ],
  providers: [
    "system/host.ts",
    "wireguard",
    "servers",
    "store",
    "killswitch/policy.ts",
    "tunnel/controller.ts",
    "tunnel/saved-state.ts",
    "forwards/opener.ts",
    "providers/provider.ts",
    "providers/answers.ts",
    "providers/*",
  ],
  "http/swagger": [],
  "http/dashboard": [],
  http: [
    "system/host.ts",
    "access",
    "servers/schema.ts",
    "tunnel/schema.ts",
    "tunnel/histogram.ts",
    "devices/schema.ts",
    "forwards/schema.ts",
    "schedules/schema.ts",
    "journal",
    "history/page.ts",
    "history/schema.ts",
    "checks/schema.ts",
    "http/swagger",
    "http/dashboard",
  ],
  mqtt: [
    "system/host.ts",
    "killswitch/policy.ts",
    "servers",
    "tunnel/schema.ts",
    "tunnel/backoff.ts",
    "devices/schema.ts",
    "http/gateway.ts",
    "http/limits.ts",
  ],
  // The page in the browser: of the rooms above it has only types.
  dashboard: [
    "access/schema.ts",
    "history/schema.ts",
    "tunnel/schema.ts",
    "devices/schema.ts",
    "forwards/schema.ts",
    "schedules/schema.ts",
    "journal",
    "checks/schema.ts",
    "http/event.ts",
    "http/schema.ts",
    "http/traffic.ts",
    "servers/schema.ts",
  ],
  "dashboard/parts": ["dashboard"],
  // The sections of one view.
  "dashboard/views/home": [
    "servers/schema.ts",
    "tunnel/schema.ts",
    "devices/schema.ts",
    "journal",
    "http/schema.ts",
    "dashboard",
    "dashboard/parts",
  ],
  "dashboard/views/devices": [
    "tunnel/schema.ts",
    "devices/schema.ts",
    "forwards/schema.ts",
    "dashboard",
    "dashboard/parts",
  ],
  "dashboard/views/tunnels": [
    "servers/schema.ts",
    "tunnel/schema.ts",
    "devices/schema.ts",
    "dashboard",
    "dashboard/parts",
  ],
  "dashboard/views/schedules": [
    "tunnel/schema.ts",
    "devices/schema.ts",
    "schedules/schema.ts",
    "dashboard",
    "dashboard/parts",
  ],
  "dashboard/views/checks": [
    "tunnel/schema.ts",
    "devices/schema.ts",
    "checks/schema.ts",
    "dashboard",
    "dashboard/parts",
  ],
  "dashboard/views/log": ["journal", "dashboard", "dashboard/parts"],
  "dashboard/views/history": ["history/schema.ts", "dashboard", "dashboard/parts"],
  "dashboard/views/servers": [
    "servers/schema.ts",
    "tunnel/schema.ts",
    "http/schema.ts",
    "dashboard",
    "dashboard/parts",
  ],
  "dashboard/views/setup": [
    "tunnel/schema.ts",
    "devices/schema.ts",
    "http/schema.ts",
    "dashboard",
    "dashboard/parts",
    "dashboard/views/servers",
  ],
  "dashboard/views": [
    "tunnel/schema.ts",
    "devices/schema.ts",
    "journal",
    "history/schema.ts",
    "schedules/schema.ts",
    "checks/schema.ts",
    "dashboard",
    "dashboard/parts",
    "dashboard/views/home",
    "dashboard/views/devices",
    "dashboard/views/tunnels",
    "dashboard/views/schedules",
    "dashboard/views/checks",
    "dashboard/views/log",
    "dashboard/views/history",
    "dashboard/views/servers",
    "dashboard/views/setup",
  ],
  "dashboard/main.tsx": ["dashboard", "dashboard/parts", "dashboard/views"],
  backup: [
    "system/host.ts",
    "killswitch/policy.ts",
    "devices",
    "forwards/forwards.ts",
    "forwards/saved.ts",
    "wireguard",
    "servers",
    "store",
    "network/slot.ts",
    "tunnel/name.ts",
    "tunnel/saved-state.ts",
    "tunnel/state.ts",
    "tunnels",
    "schedules",
    "providers",
  ],
  operator: [
    "system/host.ts",
    "system/layout.ts",
    "access/schema.ts",
    "killswitch/report.ts",
    "devices/direct.ts",
    "checks/schema.ts",
    "servers/updates.ts",
    "notifications/notifications.ts",
    "providers/provider.ts",
    "backup",
  ],
  app: [
    "wireguard",
    "servers",
    "tunnel",
    "tunnels",
    "devices",
    "schedules",
    "journal",
    "history",
    "checks",
    "http/gateway.ts",
    "http/event.ts",
    "http/event-bus.ts",
    "http/schema.ts",
    "http/traffic.ts",
    "system",
    "network",
    "killswitch",
    "store",
    "dhcp/files.ts",
    "access",
    "forwards",
    "nat-pmp",
    "notifications/notifications.ts",
    "providers",
    "dhcp/config-watch.ts",
    "dhcp/withdraw-prefixes.ts",
    "dhcp/route-advertiser.ts",
    "http/app.ts",
    "http/gate.ts",
    "http/peers.ts",
    "mqtt/start.ts",
    "backup",
    "operator",
  ],
  install: ["system", "network", "killswitch", "dhcp"],
  update: ["system"],
  sandbox: ["system", "wireguard", "servers/schema.ts"],
  licenses: [],
  cli: [
    "system",
    "access",
    "killswitch",
    "servers",
    "store",
    "tunnel/schema.ts",
    "tunnel/https-client.ts",
    "notifications/notifications.ts",
    "devices/schema.ts",
    "devices/direct.ts",
    "history/schema.ts",
    "forwards/schema.ts",
    "schedules/schema.ts",
    "providers",
    "providers/provider.ts",
    "http/answers.ts",
    "http/event.ts",
    "http/schema.ts",
    "backup",
    "checks",
    "operator",
    "app/kill-switch-parts.ts",
    "app/parts.ts",
    "app/private-names.ts",
    "install",
    "update",
  ],
  // The definitions of the commands; what they do is in cli.
  "cli/commands": [
    "servers/schema.ts",
    "system/layout.ts",
    "install/environment.ts",
    "install/install.ts",
    "install/uninstall.ts",
    "licenses",
    "cli",
  ],
  "main.ts": [
    "system",
    "dhcp/ready.ts",
    "dhcp/files.ts",
    "tunnel/saved-clock.ts",
    "sandbox",
    "app/serve.ts",
    "cli",
    "cli/commands",
  ],
};

/** All of them; a basic file is a room too. */
const ORDER = [...BASICS, ...Object.keys(ROOMS)];

interface Import {
  file: string;
  /** As the file has it. */
  from: string;
}

const FILES = [...new Glob("**/*.{ts,tsx}").scanSync(SRC)].toSorted();
const TEXTS = new Map(
  await Promise.all(FILES.map(async (file) => [file, await Bun.file(join(SRC, file)).text()] as const)),
);
const IMPORTS: Import[] = [...TEXTS].flatMap(([file, text]) =>
  [...text.matchAll(/(?:\bfrom|^import|\bimport\()\s*["']([^"']+)["']/gm)].map(([, from = ""]) => ({
    file,
    from,
  })),
);
/** Imports of other files of src, by their paths. */
const INNER = IMPORTS.filter(({ from }) => from.startsWith("."))
  .map(({ file, from }) => ({ file, target: relative(SRC, join(SRC, dirname(file), from)) }))
  .filter(({ target }) => !target.startsWith(".."));
/** Those that lead out of a room. */
const DOORS = INNER.filter(({ file, target }) => roomOf(file) !== roomOf(target)).map((each) => ({
  ...each,
  shown: `${each.file} -> ${each.target}`,
}));

function roomOf(file: string): string {
  if (ORDER.includes(file)) return file;
  return dirname(file).replace(/^providers\/[^/]+$/, "providers/*");
}

/** Whether a door of the table is the one that leads to a file. */
function leadsTo(door: string, target: string): boolean {
  return door === target || door === roomOf(target);
}

test("every file has a room", () => {
  expect(FILES.filter((file) => !ORDER.includes(roomOf(file)))).toEqual([]);
  expect(
    ORDER.filter((room) => !FILES.some((file) => roomOf(file) === room) && room !== "http/swagger"),
  ).toEqual([]);
});

test("no room has a door to one that comes after it", () => {
  const wrong = Object.entries(ROOMS).flatMap(([room, doors]) =>
    doors
      .filter((door) => ORDER.indexOf(roomOf(door)) >= ORDER.indexOf(room))
      .map((door) => `${room} -> ${door}`),
  );
  expect(wrong).toEqual([]);
});

test("imports go through the doors that a room has", () => {
  const wrong = DOORS.filter(({ file, target }) => {
    const [from, to] = [ORDER.indexOf(roomOf(file)), ORDER.indexOf(roomOf(target))];
    if (to >= 0 && to < BASICS.length) return from < to;
    return !ROOMS[roomOf(file)]?.some((door) => leadsTo(door, target));
  }).map(({ shown }) => shown);
  expect(DOORS.length).toBeGreaterThan(100);
  expect(wrong).toEqual([]);
});

test("a door that nobody uses is closed", () => {
  const unused = Object.entries(ROOMS).flatMap(([room, doors]) =>
    doors
      .filter((door) => !DOORS.some(({ file, target }) => roomOf(file) === room && leadsTo(door, target)))
      .map((door) => `${room} -> ${door}`),
  );
  expect(unused).toEqual([]);
});

test("no two files import each other, by whatever way round", () => {
  const importsOf = Map.groupBy(INNER, ({ file }) => file);
  const done = new Set<string>();
  const circles: string[] = [];
  const visit = (file: string, way: readonly string[]) => {
    if (way.includes(file)) circles.push([...way.slice(way.indexOf(file)), file].join(" -> "));
    if (way.includes(file) || done.has(file)) return;
    for (const { target } of importsOf.get(file) ?? []) visit(target, [...way, file]);
    done.add(file);
  };
  for (const file of FILES) visit(file, []);
  expect(circles).toEqual([]);
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
  const libraries = [...loaded].filter((each) => !/^(node|bun):|\.(ts|json)$/.test(each));
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
    ({ file, target }) => roomOf(target) === "providers/*" && dirname(file) !== dirname(target),
  );
  expect(new Set(naming.map(({ file }) => file))).toEqual(new Set(["providers/list.ts"]));
});

test("the kill switch has one writer; what is loaded at boot is text from the same functions", () => {
  const importing = (name: string) =>
    [...TEXTS]
      .filter(([, text]) => new RegExp(`import \\{[^}]*\\b${name}\\b`).test(text))
      .map(([file]) => file);
  expect(importing("applyRules")).toEqual(["killswitch/killswitch.ts"]);
  expect(importing("LoadedTable")).toEqual(["killswitch/killswitch.ts"]);
  expect(importing("loadTable")).toEqual(["killswitch/loaded-table.ts"]);
  expect(importing("changeElements")).toEqual(["killswitch/loaded-table.ts"]);
  expect(importing("wantedFor")).toEqual(["killswitch/killswitch.ts"]);
  expect(importing("openRulesetOf")).toEqual(["killswitch/wanted.ts"]);
  expect(importing("rulesetOf")).toEqual(["killswitch/boot-files.ts", "killswitch/wanted.ts"]);
});

test("relative imports name the file, with its ending", () => {
  expect(
    IMPORTS.filter(({ from }) => from.startsWith(".") && !/\.(tsx?|css|html|js|gz|json|txt)$/.test(from)),
  ).toEqual([]);
});

test("the page in the browser takes only types, words and what is shared from the rest of the house", () => {
  const statement = /^(?:import|export) (type )?[^;]*?from "(\.[^"]*)";$/gm;
  const outer = [...TEXTS].flatMap(([file, text]) =>
    [...text.matchAll(statement)]
      .map(([, type, from = ""]) => ({ file, type, target: join(dirname(file), from) }))
      .filter(({ target }) => file.startsWith("dashboard/") && !target.startsWith("dashboard/")),
  );
  const values = outer.filter(({ type }) => type === undefined);
  expect(new Set(values.map(({ target }) => target))).toEqual(
    new Set(["shared/words.ts", "shared/zip.ts", "shared/config-files.ts"]),
  );
  expect(outer.length).toBeGreaterThan(5);
});

test("every file that CONTRIBUTING names is there", async () => {
  const text = await Bun.file(join(SRC, "../CONTRIBUTING.md")).text();
  const named = [...text.matchAll(/(?<![\w./-])(?:[\w-]+\/)*[\w-]+\.tsx?\b/g)].map(([path]) => path);
  const places = ["src", "src/dashboard", "tests", "tests/dashboard", "."];
  const isThere = (path: string) => places.some((place) => existsSync(join(SRC, "..", place, path)));
  expect(named.length).toBeGreaterThan(30);
  expect(named.filter((path) => !isThere(path))).toEqual([]);
});

test("only system/ starts programs", () => {
  const spawning = [...TEXTS].filter(([, text]) =>
    /\bBun\.(spawn|spawnSync|\$)|child_process|\{[^}]*\b(spawn|\$)\b[^}]*\} from "bun"/.test(text),
  );
  const rooms = new Set(spawning.map(([file]) => roomOf(file)));
  expect([...rooms]).toEqual(["system"]);
});

test("there is one TypeBox in the house", () => {
  expect(IMPORTS.filter(({ from }) => from.startsWith("@sinclair/typebox"))).toEqual([]);
});
