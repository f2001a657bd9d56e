/** Sends a datagram. If the kernel has no room for it, it is lost, as on any cable. */
export function lossy(send: () => unknown): void {
  try {
    send();
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code !== "ENOBUFS") throw error;
  }
}
