/** The longest packet that is read; a command has some hundred bytes. */
const MAX_BYTES = 16 * 1024;

/**
 * Splits the broker's data into control packets (MQTT 3.1.1, section 2.2). Longer packets are skipped and take no
 * memory, because anyone may publish on the subscribed topics, and a retained message comes again with each connection.
 */
export class Frames {
  private rest: Uint8Array = new Uint8Array();
  private skipping = 0;

  /** The packets that are complete now, the first `most` of them. Throws on a malformed length. */
  take(chunk: Uint8Array, most = Number.POSITIVE_INFINITY): Uint8Array[] {
    const frames: Uint8Array[] = [];
    const bytes = this.rest.length === 0 ? chunk : Buffer.concat([this.rest, chunk]);
    let at = 0;
    for (;;) {
      const skipped = Math.min(this.skipping, bytes.length - at);
      this.skipping -= skipped;
      at += skipped;
      const size = sizeOf(bytes, at);
      if (size === null) break;
      if (size > MAX_BYTES) {
        this.skipping = size;
        continue;
      }
      if (bytes.length - at < size) break;
      // The shortest packets have two bytes, so a packet that is not read must not cost an object.
      if (frames.length < most) frames.push(bytes.subarray(at, at + size));
      at += size;
    }
    this.rest = Uint8Array.from(bytes.subarray(at));
    return frames;
  }
}

/** The size of the packet that begins there, with its fixed header; null if the header is not complete. */
function sizeOf(bytes: Uint8Array, at: number): number | null {
  let length = 0;
  for (let place = 0; place < 4; place++) {
    const byte = bytes[at + 1 + place];
    if (byte === undefined) return null;
    length += (byte & 0x7f) * 128 ** place;
    if (byte < 0x80) return 2 + place + length;
  }
  throw new Error("it does not speak MQTT");
}
