import { dlopen } from "bun:ffi";
import { closeSync, openSync } from "node:fs";

/** From the kernel's headers; the same on ARM and x86. */
const CLONE_NEWNET = 0x40000000;

/**
 * A command as it runs in a named network namespace. Only a program that reads /sys needs mounts of its own, which
 * `ip netns exec` makes; they take 5 ms and wait for all other mounts of the machine.
 */
export function commandIn(netns: string, argv: readonly string[]): string[] {
  if (argv[0] === "ip") return ["ip", "-n", netns, ...argv.slice(1)];
  if (argv.some((word) => word.startsWith("/sys/"))) return ["ip", "netns", "exec", netns, ...argv];
  return ["nsenter", `--net=/run/netns/${netns}`, ...argv];
}

/** A command with the namespace's own /sys and its own files below /etc, as a machine that starts it. */
export function machineIn(netns: string, argv: readonly string[]): string[] {
  return ["ip", "netns", "exec", netns, ...argv];
}

/**
 * Runs `open` with this thread in a network namespace: what it opens or starts before its first `await` stays there.
 * Nothing else runs in between.
 */
export function inNamespace<T>(netns: string, open: () => T): T {
  const { setns } = libc();
  const other = openSync(`/run/netns/${netns}`, "r");
  const own = openSync("/proc/thread-self/ns/net", "r");
  try {
    if (setns(other, CLONE_NEWNET) !== 0) throw new Error(`cannot enter the network namespace ${netns}`);
    return open();
  } finally {
    // In the wrong namespace, all that follows would be wrong.
    if (setns(own, CLONE_NEWNET) !== 0) process.abort();
    closeSync(own);
    closeSync(other);
  }
}

let symbols: ReturnType<typeof opened> | null = null;

function libc() {
  symbols ??= opened();
  return symbols;
}

function opened() {
  return dlopen("libc.so.6", { setns: { args: ["i32", "i32"], returns: "i32" } }).symbols;
}
