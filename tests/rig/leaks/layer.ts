import { chmodSync, mkdirSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import type { Lab } from "../tools/lab.ts";

/** Which of the two layers a gateway has. `neither` is the positive control of the other three. */
export type Layer = "both" | "routing alone" | "firewall alone" | "neither";

/**
 * What starts the service so that it lacks a layer and does not know: its `nft`, or its `ip` where it is about
 * rules, work on a decoy namespace. The service connects, switches and repairs as ever, and believes that all is
 * well; the gateway's own namespace never sees the layer.
 */
export async function starterFor(lab: Lab, layer: Layer): Promise<readonly string[]> {
  if (layer === "both") return [];
  const decoy = `${lab.sandbox.id}-decoy`;
  const programs = join(lab.sandbox.directory, "programs");
  await lab.outside(["ip", "netns", "add", decoy]);
  mkdirSync(programs, { recursive: true });
  if (layer !== "firewall alone") write(programs, "nft", fakeNft(decoy));
  if (layer !== "routing alone") write(programs, "ip", fakeIp(decoy));
  // The service looks there first for its programs; its mounts are its own.
  const mount = `mount --bind ${programs} /usr/local/sbin && exec "$@"`;
  return ["sh", "-c", mount, "sh"];
}

function fakeNft(decoy: string): string {
  return `#!/bin/sh\nexec nsenter --net=/run/netns/${decoy} /usr/sbin/nft "$@"\n`;
}

/** Rules are read with `ip -j -4 rule show` and written with `ip -4 -batch -`, and nothing else is. */
function fakeIp(decoy: string): string {
  return `#!/bin/sh
case "$*" in
"-j -4 rule "* | "-j -6 rule "* | "-4 -batch -" | "-6 -batch -")
  exec /usr/sbin/ip -n ${decoy} "$@"
  ;;
esac
exec /usr/sbin/ip "$@"
`;
}

function write(folder: string, name: string, text: string): void {
  writeFileSync(join(folder, name), text);
  chmodSync(join(folder, name), 0o755);
}
