import { readdirSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { PACKAGES } from "./packages.ts";

export interface Notice {
  name: string;
  version: string;
  /** An SPDX expression. */
  license: string;
  /** The package's own license and notice files. */
  text: string;
}

const PROJECT = join(import.meta.dir, "../..");

// Macros: they read files while the executable is built.

export function ownLicense(): string {
  return readFileSync(join(PROJECT, "LICENSE"), "utf8").trim();
}

export function notices(): Notice[] {
  return PACKAGES.map((path) => noticeIn(join(PROJECT, "node_modules", path)));
}

function noticeIn(folder: string): Notice {
  const { name, version, license } = JSON.parse(readFileSync(join(folder, "package.json"), "utf8"));
  const files = readdirSync(folder)
    .filter((file) => /(^|bundle\.js\.)(licen[sc]e|copying|notice)(\.|$)/i.test(file))
    .sort();
  if (files.length === 0) throw new Error(`${name} has no license file`);
  const texts = files.map((file) => readFileSync(join(folder, file), "utf8").replaceAll("\r\n", "\n").trim());
  return { name, version, license, text: texts.join("\n\n") };
}
