/** Longer heads are refused, as browsers refuse them. */
const MOST_BYTES = 65_536;
const END = "\r\n\r\n";

/** The head of an HTTP answer (RFC 9112), as it comes in. */
export class AnswerHead {
  private text = "";
  isRead = false;
  /** Of the body; null if the end of the connection is its end. */
  length: number | null = null;

  /** Returns what comes after the head, null as long as that is not whole. Throws unless the body is to be read. */
  read(bytes: Uint8Array): Uint8Array | null {
    const before = this.text.length;
    this.text += Buffer.from(bytes.subarray(0, MOST_BYTES + 1)).toString("latin1");
    const end = this.text.indexOf(END);
    if (end < 0 && this.text.length > MOST_BYTES) throw new Error("it does not come to its answer");
    if (end < 0) return null;
    const head = this.text.slice(0, end);
    this.text = "";
    this.take(head);
    this.isRead = true;
    return bytes.subarray(end + END.length - before);
  }

  private take(head: string): void {
    const status = Number(/^HTTP\/1\.[01] (\d{3})/.exec(head)?.[1] ?? Number.NaN);
    if (Number.isNaN(status)) throw new Error("what it answers is not HTTP");
    if (status >= 300 && status < 400)
      throw new Error(`it answers ${status} and points elsewhere, which is not followed; name that address`);
    if (status !== 200) throw new Error(`it answers ${status}`);
    const length = /\r\ncontent-length: *(\d{1,15}) *(?:\r\n|$)/i.exec(head)?.[1];
    this.length = length === undefined ? null : Number(length);
  }
}
