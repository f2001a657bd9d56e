import { mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { pack } from "../../shared/message-key.ts";

/** Home and Devices, with the messages of one language, are to be usable on a slow link of a phone within a second. */
const MAX_FIRST_BYTES = 125_000;
/** All views, with all that they tell in one language unless something fails. */
const MAX_BYTES = 200_000;
/** What is read once the page is there: the other views, and what the gateway tells, in a language. */
const LATER = /^(sentences|errors|findings|others|map|place-guess|wg-easy)[.-]/;
/** What comes before a name's hash. */
const LANGUAGE = /(?:^|\.)([a-z]{2})-[^.]*\.json$/;
/** It takes 0.1 s, and seconds on a busy machine. */
const BUILT_WITHIN_MS = 120_000;

/**
 * The files of the dashboard by name, compressed by gzip and in base64. A macro of `files.ts`: it runs
 * when that is built into the binary, or loaded from source. `Bun.build` would wait for ever inside a macro.
 */
export function bundle(): Record<string, string> {
  const folder = mkdtempSync(join(tmpdir(), "portcullis-page-"));
  try {
    build(folder);
    nameIcons(folder);
    packCatalogues(folder);
    const files = readdirSync(folder).map((name) => [name, zip(readFileSync(join(folder, name)))] as const);
    const first = files.filter(([name]) => !LATER.test(name));
    bound(first, MAX_FIRST_BYTES, "Home and Devices take");
    const views = files.filter(([name]) => !name.startsWith("errors."));
    bound(views, MAX_BYTES, "the page takes");
    return Object.fromEntries(files.map(([name, bytes]) => [name, Buffer.from(bytes).toString("base64")]));
  } finally {
    rmSync(folder, { recursive: true, force: true });
  }
}

/** Its densest; it takes the time of the build only. */
function zip(bytes: Uint8Array<ArrayBuffer>): Uint8Array {
  return Bun.gzipSync(bytes, { library: "libdeflate", level: 12 });
}

/** Of the messages, a page reads those of one language. */
function bound(files: readonly (readonly [string, Uint8Array])[], most: number, what: string): void {
  const sizes = new Map<string, number>();
  for (const [name, { length }] of files) {
    const language = LANGUAGE.exec(name)?.[1] ?? "";
    sizes.set(language, (sizes.get(language) ?? 0) + length);
  }
  const { "": own = 0, ...languages } = Object.fromEntries(sizes);
  const size = own + Math.max(0, ...Object.values(languages));
  if (size > most) throw new Error(`${what} ${size} bytes; ${most} is the most`);
}

function build(folder: string): void {
  const page = join(import.meta.dir, "../../dashboard/index.html");
  const argv = [
    ...[process.execPath, "build", page, "--outdir", folder, "--public-path", "/dashboard/"],
    ...["--target", "browser", "--minify", "--splitting", "--define", 'process.env.NODE_ENV="production"'],
  ];
  // Not through `system/`: this runs while the program is built, and a macro cannot wait.
  const { success, stderr } = Bun.spawnSync(argv, { timeout: BUILT_WITHIN_MS });
  if (!success) throw new Error(`the dashboard cannot be built: ${stderr}`);
}

/** Bun gives each file a name with its hash, and does not look into the manifest for names. */
function nameIcons(folder: string): void {
  const names = readdirSync(folder);
  const manifest = names.find((name) => name.endsWith(".webmanifest"));
  if (manifest === undefined) throw new Error("the dashboard has no manifest");
  const path = join(folder, manifest);
  const { icons, ...rest } = JSON.parse(readFileSync(path, "utf8"));
  const named = icons.map((icon: { src: string }) => {
    const [stem, ending] = icon.src.split(".");
    return { ...icon, src: names.find((name) => name.startsWith(`${stem}-`) && name.endsWith(`.${ending}`)) };
  });
  const text = JSON.stringify({ ...rest, icons: named });
  rmSync(path);
  // A browser keeps it for ever, so its name must change with the icons.
  const own = `app-${Bun.hash(text).toString(36)}.webmanifest`;
  writeFileSync(join(folder, own), text);
  const page = join(folder, "index.html");
  writeFileSync(page, readFileSync(page, "utf8").replace(manifest, own));
}

/** The page's scripts have the English messages already. A name has the hash of what is sent, as a browser keeps it for ever. */
function packCatalogues(folder: string): void {
  const names = readdirSync(folder);
  const packed = names.flatMap((name) => {
    const [, code] = /^([a-z]{2})-[a-z0-9]+\.json$/.exec(name) ?? [];
    if (code === undefined) return [];
    const text = JSON.stringify(pack(JSON.parse(readFileSync(join(folder, name), "utf8"))));
    const own = `${code}-${Bun.hash(text).toString(36)}.json`;
    rmSync(join(folder, name));
    writeFileSync(join(folder, own), text);
    return [[name, own] as const];
  });
  for (const script of names.filter((name) => name.endsWith(".js"))) {
    const path = join(folder, script);
    const text = readFileSync(path, "utf8");
    writeFileSync(
      path,
      packed.reduce((before, [name, own]) => before.replaceAll(name, own), text),
    );
  }
}
