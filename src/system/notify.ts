/** How many signs of life fit into the time after which systemd takes the service for hung. */
const SIGNS_PER_PATIENCE = 3;

/**
 * Tells systemd that the service answers, and from then on that its event loop turns (sd_notify(3)); nothing where
 * systemd has not started it. Bun opens no datagram socket to a path, so systemd's own program carries the words.
 */
export function notifySystemd(): void {
  const { NOTIFY_SOCKET: socket, WATCHDOG_USEC: patience } = process.env;
  if (socket === undefined) return;
  say(socket, "READY=1");
  if (patience === undefined) return;
  setInterval(() => say(socket, "WATCHDOG=1"), Number(patience) / 1_000 / SIGNS_PER_PATIENCE);
}

function say(socket: string, words: string): void {
  const env = { PATH: "/usr/bin:/bin", NOTIFY_SOCKET: socket };
  try {
    Bun.spawn(["systemd-notify", words], { env, stdin: "ignore", stdout: "ignore", stderr: "inherit" });
  } catch (error) {
    process.stderr.write(`warn: systemd is not told ${words}: ${String(error)}\n`);
  }
}
