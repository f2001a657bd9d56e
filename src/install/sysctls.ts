import { sysctlsFor, withoutSourceCheck } from "../network/sysctls.ts";
import type { Machine } from "./machine.ts";

/**
 * Values that were recorded earlier are kept, because a second installation would record the values that the first one
 * has set.
 */
export function sysctlsBefore({ sysctls, sysctlsBefore: noted }: Machine): string {
  const known = parseSysctls(noted ?? "");
  const fresh = sysctls.filter(({ path }) => !known.some((other) => other.path === path));
  const lines = [...known, ...fresh].map(({ path, value }) => `net/${path} = ${value}\n`);
  return `# Values before Portcullis was installed; uninstall restores them.\n${lines.join("")}`;
}

export function parseSysctls(text: string): { path: string; value: string }[] {
  return [...text.matchAll(/^net\/(\S+) = (.*)$/gm)].map(([, path = "", value = ""]) => ({ path, value }));
}

/**
 * The service's sysctls, set early at boot (sysctl.d(5); with slashes, dots in an interface's name are literal). Those of
 * tunnels are here, too: udev sets what these files say of a link just after it has come, over what the service has set.
 */
export function sysctlsText({ network, sysctls }: Machine, base: string): string {
  const off = sysctls.filter(({ path, value }) => path.endsWith("accept_ra") && value === "0");
  const lines = [...sysctlsFor(network), ...withoutSourceCheck(`${base}*`)]
    .filter(({ path }) => !off.some((other) => other.path === path))
    .map(({ path, value, why }) => `# ${why}\n-net/${path} = ${value}\n`);
  return lines.join("");
}
