import { ptr } from "bun:ffi";
import { DATAGRAM_NONBLOCK_CLOEXEC, libc } from "./libc.ts";

/** Messages to systemd within the time after which it considers the service hung. */
const MESSAGES_PER_TIMEOUT = 3;
/** The queue of systemd's socket can be full for a moment, as while many services start. */
const TRIES = 10;
const RETRY_AFTER_MS = 500;
/** From the kernel's headers; the same on ARM and x86. */
const AF_UNIX = 1;

/**
 * Tells systemd that the service is ready, and from then on that its event loop runs (sd_notify(3)). Does nothing if
 * systemd has not started it.
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
  for (let tries = 0; tries < TRIES; tries += 1) {
    if (isSent(unixAddress(socket), Buffer.from(message))) return;
    await Bun.sleep(RETRY_AFTER_MS);
  }
  process.stderr.write(`warn: could not send ${message} to systemd\n`);
}

/** Bun's own sockets are no datagram sockets of a path. */
function isSent(address: Buffer, message: Buffer): boolean {
  const c = libc();
  const socket = c.socket(AF_UNIX, DATAGRAM_NONBLOCK_CLOEXEC, 0);
  const sent = c.sendto(socket, ptr(message), message.length, 0, ptr(address), address.length);
  c.close(socket);
  return Number(sent) === message.length;
}

/** A `sockaddr_un` (unix(7)). A name in the abstract namespace is written with `@`, and begins with a zero byte. */
export function unixAddress(name: string): Buffer {
  const family = Buffer.alloc(2);
  family.writeUInt16LE(AF_UNIX);
  return Buffer.concat([family, Buffer.from(name.replace(/^@/, "\0"))]);
}
