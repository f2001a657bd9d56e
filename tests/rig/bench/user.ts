import { commandIn } from "../../../src/sandbox/namespace.ts";
import { INTERNET } from "../../../src/sandbox/topology.ts";
import type { Lab } from "../tools/lab.ts";

/** A computer at home has an answer of the internet each half second, until it is stopped. */
export function startUser({ namespaces }: Lab): Bun.Subprocess {
  const argv = commandIn(namespaces.client, ["ping", "-q", "-i", "0.5", INTERNET.host4]);
  return Bun.spawn(argv, { stdin: "ignore", stdout: "ignore", stderr: "inherit" });
}
