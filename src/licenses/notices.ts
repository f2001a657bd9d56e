import { readdirSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { PACKAGES } from "./packages.ts";

export interface Notice {
  name: string;
  version: string;
  /** An SPDX expression. */
  license: string;
  /** The package's own license and notice files, or the notice in its code. */
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

/** The comment with which the package's code begins, if it has no license file. */
function headIn(path: string, name: string): string {
  const [head = ""] = /^(\/\/.*\n)+/.exec(readFileSync(path, "utf8")) ?? [];
  if (!/licen[sc]e/i.test(head)) throw new Error(`${name} has no license file, and no license in its code`);
  return head.replaceAll(/^\/\/-*[ \t]?/gm, "").trim();
}

function noticeIn(folder: string): Notice {
  const { name, version, license, main } = JSON.parse(readFileSync(join(folder, "package.json"), "utf8"));
  const files = readdirSync(folder)
    .filter((file) => /(^|bundle\.js\.)(licen[sc]e|copying|notice)(\.|$)/i.test(file))
    .sort();
  if (files.length === 0) return { name, version, license, text: headIn(join(folder, main), name) };
  const texts = files.map((file) => readFileSync(join(folder, file), "utf8").replaceAll("\r\n", "\n").trim());
  return { name, version, license, text: texts.join("\n\n") };
}
