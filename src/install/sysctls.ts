import { sysctlsFor } from "../network/sysctls.ts";
import type { Machine } from "./machine.ts";

/** What was noted first stays: a second installation would note what the first has set. */
export function sysctlsBefore({ sysctls, sysctlsBefore: noted }: Machine): string {
  const known = parseSysctls(noted ?? "");
  const fresh = sysctls.filter(({ path }) => !known.some((other) => other.path === path));
  const lines = [...known, ...fresh].map(({ path, value }) => `net/${path} = ${value}\n`);
  return `# What these were before Portcullis; uninstall sets them again.\n${lines.join("")}`;
}

export function parseSysctls(text: string): { path: string; value: string }[] {
  return [...text.matchAll(/^net\/(\S+) = (.*)$/gm)].map(([, path = "", value = ""]) => ({ path, value }));
}

/** What the service sets, from the first moment on (sysctl.d(5); a slash keeps the dots of an interface's name). */
export function sysctlsText({ network, sysctls }: Machine): string {
  const off = sysctls.filter(({ path, value }) => path.endsWith("accept_ra") && value === "0");
  const lines = sysctlsFor(network)
    .filter(({ path }) => !off.some((other) => other.path === path))
    .map(({ path, value, why }) => `# ${why}\n-net/${path} = ${value}\n`);
  return lines.join("");
}
