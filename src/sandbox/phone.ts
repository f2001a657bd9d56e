import { chmodSync, mkdirSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { INTERNET, PHONE } from "./topology.ts";

/** The `ip -batch` text of the phone's addresses on the internet. */
export const PHONE_ADDRESSES = [
  "link set lo up",
  // By no prefix, as with an address of another network: its tunnel then takes everything.
  `address add ${PHONE.v4}/32 dev wan0`,
  `address add ${PHONE.v6}/128 dev wan0 nodad`,
  "link set wan0 up",
  "route add default dev wan0",
  "route add ::/0 dev wan0",
];

/**
 * Writes the program that runs a command on the phone, and returns its path. `wg-quick` there changes the phone alone:
 * without these mounts and this `resolvconf`, its sockets and its resolver would be those of this machine.
 */
export function writePhone(directory: string, namespace: string): string {
  const [programs, sockets] = ["phone-programs", "phone-sockets"].map((name) => join(directory, name));
  for (const folder of [programs, sockets]) mkdirSync(folder ?? "", { mode: 0o700 });
  writeProgram(join(programs ?? "", "resolvconf"), [
    'case "$1" in',
    "-a) cat >/etc/resolv.conf ;;",
    `-d) echo "nameserver ${INTERNET.dns4}" >/etc/resolv.conf ;;`,
    "esac",
  ]);
  return writeProgram(join(directory, "phone"), [
    `export PATH="${programs}:$PATH"`,
    `exec ip netns exec ${namespace} sh -c '`,
    `  [ ! -d /run/wireguard ] || mount --bind ${sockets} /run/wireguard`,
    `  exec "$@"' sh "$@"`,
  ]);
}

function writeProgram(path: string, lines: readonly string[]): string {
  writeFileSync(path, `${["#!/bin/sh", ...lines].join("\n")}\n`);
  chmodSync(path, 0o700);
  return path;
}
