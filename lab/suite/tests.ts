import { type Job, run } from "./job.ts";

/** Tests wait for conditions; this ends those that would wait for ever, even on a busy machine. */
const OPTIONS = ["--timeout", "180000"];
/** Twice what the longest file takes on a busy machine. It ends one that hangs outside its tests. */
const MAX_FILE_MS = 45 * 60_000;
/** Quick tests that share a process. */
const BATCH = 20;

/** They start the program, labs or a browser; each file has a process of its own. */
const PROGRAMS = /^\.\/tests\/(lab|binary|cli|dashboard)\//;
const LABS = /^\.\/tests\/lab\//;
const NAMESPACES = /^\.\/tests\/(lab|dashboard|binary)\/|^\.\/tests\/system\/.*\.lab\.test\.ts$/;
/** They need Debian packages in all that they do. */
const PACKAGED =
  /^\.\/tests\/(cli\/update|install\/units|package\/.*|release\/signed-tag|update\/(install|sign|update))\.test\.ts$/;

/** The labs that take longest, which start first. */
const FIRST = namesOf("lab", ["leaks/leaks", "gateway/two-cards", "remote/phone", "devices"]);

/** The labs whose devices, tunnels or services have something to do all the time. */
const HEAVY = new Set(
  namesOf("lab", [
    ...["leaks/leaks", "leaks/fresh", "moves", "direct", "kills", "gateway/one-card", "gateway/two-cards"],
    ...[
      "exits",
      "exits-in-order",
      "pair",
      "lost-exits",
      "destinations",
      "names",
      "remote/phone",
      "remote/phones",
    ],
    "supervision",
  ]),
);

/**
 * The suite is to end within a quarter of an hour on two busy processors: it plays the leaks, one gateway, a home's
 * devices, a phone, and the page's first steps. `scripts/test --long` runs the rest, which takes hours there.
 */
const LONG = new Set([
  // What repeats: rounds of SIGKILL, random changes, hours that pass in minutes, measurements, a build that is made twice.
  ...namesOf("lab", ["kills", "random/random", "soak/soak", "bench/bench", "bench/page", "status"]),
  ...namesOf("binary", ["reproducible"]),
  ...namesOf("tunnel", ["chance"]),
  ...namesOf("servers", ["memory"]),
  ...namesOf("fake", ["conformance"]),
  // The same gateway in other homes: other routers, cables, DHCP programs, providers.
  ...namesOf("lab", ["gateway/one-card", "other-routers", "remote/router", "dropin", "dhcp", "lan", "mtu"]),
  ...namesOf("lab", [
    "company",
    "second",
    "leaks/fresh",
    "leaks/relayed",
    "transport",
    "relayed",
    "shadowsocks",
    "amnezia",
    "quantum",
    "installation",
  ]),
  ...namesOf("lab", ["routed", "resolvers", "account", "list", "choosing", "ports", "advertising"]),
  // Each case of what the leaks and other labs show in passing.
  ...namesOf("lab", [
    "direct",
    "moves",
    "pair",
    "lost-exits",
    "exits",
    "exits-in-order",
    "switched-dns",
    "names",
    "three-rules",
  ]),
  ...namesOf("lab", ["forwards", "port-shadow", "remote/phones", "remote/through", "remote/pair"]),
  ...namesOf("lab", ["bounds", "limits"]),
  ...namesOf("lab", [
    "supervision",
    "tunnels",
    "hops",
    "connections",
    "endpoint-routes",
    "quality",
    "speed",
    "order",
    "forged",
    "sandbox",
  ]),
  ...namesOf("lab", ["upgrade", "update", "checks", "notifications", "schedules", "mqtt", "port-mapping"]),
  ...namesOf("lab", [
    "destinations",
    "cable",
    "prefix",
    "arp-flood",
    "renewal",
    "identity",
    "narrow",
    "overlap",
  ]),
  ...namesOf("lab", ["dns", "arp", "system-calls"]),
  // Each command of the docs, each section of the documentation page, each way to lose a disk.
  ...namesOf("binary", ["docs", "swagger", "durability", "https"]),
  ...namesOf("cli", ["completion"]),
  // Each view of the page.
  ...namesOf("dashboard", ["account", "checks", "destinations", "devices", "firefox", "history", "home"]),
  ...namesOf("dashboard", [
    "languages",
    "log",
    "login",
    "remote",
    "schedules",
    "servers",
    "settings",
    "walk",
  ]),
  ...namesOf("dashboard", ["tunnels", "links", "versions", "widths"]),
]);

function namesOf(folder: string, names: readonly string[]): string[] {
  return names.map((name) => `./tests/${folder}/${name}.test.ts`);
}

/** What this machine does not permit, and whether Debian packages are missing. */
export interface Lacks {
  permission: "" | "root" | "namespaces";
  packages: boolean;
}

function allTests(): string[] {
  return [...new Bun.Glob("tests/**/*.test.ts").scanSync(".")].toSorted().map((file) => `./${file}`);
}

/** Those of the suite, or those that `--long` runs instead. */
export function suiteTests(areLong: boolean): string[] {
  return allTests().filter((file) => LONG.has(file) === areLong);
}

/** Those that this machine cannot run. */
export function leftOut({ permission, packages }: Lacks): string[] {
  if (permission === "") return [];
  return allTests().filter((file) => NAMESPACES.test(file) || (packages && PACKAGED.test(file)));
}

/** Those that `--fast` runs: in one process, because most of their time is the start of one. */
export function fastTests(): Job {
  const files = allTests().filter((file) => !PROGRAMS.test(file));
  return {
    ...testsOf(files, "--parallel", "--no-isolate", "--only-failures"),
    environment: { PORTCULLIS_TEST_FAST: "1" },
  };
}

/** The long labs first, then labs and programs in turns, because labs mostly wait; the quick tests fill the end. */
export function testJobs(files: readonly string[]): Job[] {
  const first = FIRST.filter((file) => files.includes(file));
  const labs = files.filter((file) => LABS.test(file) && !FIRST.includes(file));
  const programs = files.filter((file) => PROGRAMS.test(file) && !LABS.test(file));
  const quick = files.filter((file) => !PROGRAMS.test(file));
  const batches = Array.from({ length: Math.ceil(quick.length / BATCH) }, (_, at) =>
    quick.slice(at * BATCH, (at + 1) * BATCH),
  );
  const turns = Math.max(labs.length, programs.length);
  const mixed = Array.from({ length: turns }, (_, at) => [labs[at], programs[at]])
    .flat()
    .filter((file) => file !== undefined);
  const jobs = [
    ...[...first, ...mixed].map((file) => ({ ...testsOf([file]), isHeavy: HEAVY.has(file) })),
    ...batches.map((batch) => testsOf(batch)),
  ];
  return jobs.map((job) => ({ ...job, maxMs: MAX_FILE_MS }));
}

/** `bun test` with arguments of the caller's. */
export function chosenTests(args: readonly string[]): Job {
  return { ...testsOf(args), isShown: true };
}

function testsOf(words: readonly string[], ...options: readonly string[]): Job {
  const [first = "", ...others] = words;
  return {
    title: others.length === 0 ? first : `${first} and ${others.length} more`,
    argv: [process.execPath, "test", ...OPTIONS, ...options, ...words],
    isTest: true,
  };
}

/** How many tests these files have. No test has the name that is asked for, so Bun only counts them. */
export async function countOf(files: readonly string[]): Promise<number> {
  let sum = 0;
  for (const file of files) {
    const { output, skipped } = await run({
      ...testsOf([file], "-t", "^no test$"),
    });
    const filtered = /\(skipping (\d+) tests\)/.exec(output)?.[1];
    sum += filtered === undefined ? skipped : Number(filtered);
  }
  return sum;
}
