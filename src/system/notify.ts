/** Messages to systemd within the time after which it considers the service hung. */
const MESSAGES_PER_TIMEOUT = 3;

/**
 * Tells systemd that the service is ready, and from then on that its event loop runs (sd_notify(3)). Does nothing if
 * systemd has not started it. Bun cannot open a datagram socket to a path, so `systemd-notify` sends the messages.
 */
export function notifySystemd(): void {
  const { NOTIFY_SOCKET: socket, WATCHDOG_USEC: timeout } = process.env;
  if (socket === undefined) return;
  send(socket, "READY=1");
  if (timeout === undefined) return;
  setInterval(() => send(socket, "WATCHDOG=1"), Number(timeout) / 1_000 / MESSAGES_PER_TIMEOUT);
}

function send(socket: string, message: string): void {
  const env = { PATH: "/usr/bin:/bin", NOTIFY_SOCKET: socket };
  try {
    Bun.spawn(["systemd-notify", message], { env, stdin: "ignore", stdout: "ignore", stderr: "inherit" });
  } catch (error) {
    process.stderr.write(`warn: could not send ${message} to systemd: ${String(error)}\n`);
  }
}
