import { chmodSync, copyFileSync, existsSync, mkdirSync, statSync, writeFileSync } from "node:fs";
import { basename, join } from "node:path";
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
      copyFileSync(program, copy);
      chmodSync(copy, 0o700);
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
  const ask = async (what: string) => (await host.run(["dpkg-query", what, "portcullis"])).split("\n");
  const control = (await ask("--status")).join("\n").replace(/^(Status|Conffiles): ?.*\n(?: .*\n)*/gm, "");
  // Documentation may be left out, as dpkg.cfg(5) has it.
  const isThere = (path: string) => path.startsWith("/") && existsSync(path);
  // Folders come before what is in them.
  for (const path of (await ask("--listfiles")).filter(isThere)) take(path, join(folder, path));
  const meta = join(folder, "DEBIAN");
  mkdirSync(meta, { recursive: true });
  chmodSync(meta, 0o755);
  for (const path of (await ask("--control-path")).filter(isThere))
    take(path, join(meta, basename(path).replace(/^portcullis\./, "")));
  writeFileSync(join(meta, "control"), control);
  // Other ways to pack take a Raspberry Pi a minute, or a third of its memory.
  await host.run(["dpkg-deb", "-Zgzip", "-z1", "--root-owner-group", "--build", folder, file], {
    timeoutMs: PACKING_MS,
  });
}

/** With its mode: what this program makes, only root may read, but everyone reads what is installed. */
function take(from: string, to: string): void {
  const found = statSync(from);
  if (found.isDirectory()) mkdirSync(to, { recursive: true });
  else copyFileSync(from, to);
  chmodSync(to, found.mode);
}
