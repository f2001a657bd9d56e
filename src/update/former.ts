import { cpSync, existsSync, lstatSync, mkdirSync, writeFileSync } from "node:fs";
import { basename, dirname, join } from "node:path";
import type { Host } from "../system/host.ts";
import type { Running } from "./archive.ts";

/** A slow card writes a package of this size in a minute. */
const PACKING_MS = 300_000;

/**
 * Keeps the installed program in a folder, and returns the command that installs it again. A package is made of its files,
 * because the one that they came from is gone.
 */
export async function keepFormer(
  host: Pick<Host, "run">,
  kind: Running["kind"],
  program: string,
  folder: string,
): Promise<string[]> {
  switch (kind) {
    case "archive": {
      const copy = join(folder, "former");
      cpSync(program, copy);
      return [copy, "install", "--yes"];
    }
    case "package": {
      const file = join(folder, "former.deb");
      await repack(host, join(folder, "former"), file);
      // apt-get does nothing as long as a package is half installed.
      return ["env", "DEBIAN_FRONTEND=noninteractive", "dpkg", "--force-confold", "--install", file];
    }
  }
}

async function repack(host: Pick<Host, "run">, folder: string, file: string): Promise<void> {
  mkdirSync(join(folder, "DEBIAN"), { recursive: true, mode: 0o755 });
  const ask = async (what: string) => (await host.run(["dpkg-query", what, "portcullis"])).split("\n");
  // Documentation may be left out, as dpkg.cfg(5) has it.
  const isFile = (path: string) => path.startsWith("/") && existsSync(path) && !lstatSync(path).isDirectory();
  for (const path of (await ask("--listfiles")).filter(isFile)) take(path, join(folder, path));
  const scripts = (await ask("--control-path")).filter(isFile);
  for (const path of scripts) take(path, join(folder, "DEBIAN", basename(path).replace(/^portcullis\./, "")));
  const control = (await ask("--status")).join("\n").replace(/^(Status|Conffiles): ?.*\n(?: .*\n)*/gm, "");
  writeFileSync(join(folder, "DEBIAN/control"), control, { mode: 0o644 });
  // The other ways take a Raspberry Pi a minute, and none takes a third of its memory.
  await host.run(["dpkg-deb", "-Zgzip", "-z1", "--root-owner-group", "--build", folder, file], {
    timeoutMs: PACKING_MS,
  });
}

/** With its mode and times. */
function take(from: string, to: string): void {
  mkdirSync(dirname(to), { recursive: true, mode: 0o755 });
  cpSync(from, to, { preserveTimestamps: true, verbatimSymlinks: true });
}
