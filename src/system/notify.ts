/** Messages to systemd within the time after which it considers the service hung. */
const MESSAGES_PER_TIMEOUT = 3;

/**
 * Tells systemd that the service is ready, and from then on that its event loop runs (sd_notify(3)). Does nothing if
 * systemd has not started it. Bun cannot open a datagram socket to a path, so `systemd-notify` sends the messages.
 */
export function notifySystemd(): void {
  const { NOTIFY_SOCKET: socket, WATCHDOG_USEC: timeout } = process.env;
  if (socket === undefined) return;
  void send(socket, "READY=1");
  if (timeout === undefined) return;
  setInterval(() => void send(socket, "WATCHDOG=1"), Number(timeout) / 1_000 / MESSAGES_PER_TIMEOUT);
}

/** What `systemctl status` shows of the unit from now on. */
export async function tellStatus(status: string): Promise<void> {
  const { NOTIFY_SOCKET: socket } = process.env;
  if (socket !== undefined) await send(socket, `STATUS=${status}`);
}

async function send(socket: string, message: string): Promise<void> {
  const env = { PATH: "/usr/bin:/bin", NOTIFY_SOCKET: socket };
  try {
    const io = { stdin: "ignore", stdout: "ignore", stderr: "inherit" } as const;
    await Bun.spawn(["systemd-notify", message], { env, ...io }).exited;
  } catch (error) {
    process.stderr.write(`warn: could not send ${message} to systemd: ${String(error)}\n`);
  }
}
