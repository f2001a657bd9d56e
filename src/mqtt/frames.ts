/** The longest packet that is read; a command has some hundred bytes. */
const MOST_BYTES = 16 * 1024;

/**
 * Splits what a broker sends into control packets (MQTT 3.1.1, section 2.2). Longer ones are skipped and take no memory:
 * anyone may publish on the topics that are subscribed to, and a retained message comes again with each connection.
 */
export class Frames {
  private rest: Uint8Array = new Uint8Array();
  private skipping = 0;

  /** The packets that are complete now. Throws on a malformed length. */
  take(chunk: Uint8Array): Uint8Array[] {
    const frames: Uint8Array[] = [];
    let rest = this.rest.length === 0 ? chunk : Buffer.concat([this.rest, chunk]);
    for (;;) {
      const skipped = Math.min(this.skipping, rest.length);
      this.skipping -= skipped;
      rest = rest.subarray(skipped);
      const size = sizeOf(rest);
      if (size === null) break;
      if (size > MOST_BYTES) {
        this.skipping = size;
        continue;
      }
      if (rest.length < size) break;
      frames.push(rest.subarray(0, size));
      rest = rest.subarray(size);
    }
    this.rest = Uint8Array.from(rest);
    return frames;
  }
}

/** The size of the packet that begins here, with its fixed header; null if the header is not complete. */
function sizeOf(bytes: Uint8Array): number | null {
  let length = 0;
  for (let place = 0; place < 4; place++) {
    const byte = bytes[1 + place];
    if (byte === undefined) return null;
    length += (byte & 0x7f) * 128 ** place;
    if (byte < 0x80) return 2 + place + length;
  }
  throw new Error("it does not speak MQTT");
}
