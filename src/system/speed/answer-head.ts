/** Longer heads are refused, as browsers refuse them, and so are more of them in a row. */
const MAX_BYTES = 65_536;
const END = "\r\n\r\n";
/** What precedes an answer, as 103 (Early Hints). After 101 another protocol would be spoken. */
const INTERIM = /^HTTP\/1\.[01] 1(?!01)\d\d/;

/** The head of an HTTP answer (RFC 9112), as it comes in. */
export class AnswerHead {
  private text = "";
  /** Where the head begins, in the text: after those that only announce it. */
  private start = 0;
  isRead = false;
  /** Of the body; null if the end of the connection is its end. */
  length: number | null = null;

  /** Returns what comes after the head, null as long as that is not whole. Throws unless the body is to be read. */
  read(bytes: Uint8Array): Uint8Array | null {
    const before = this.text.length;
    this.text += Buffer.from(bytes.subarray(0, MAX_BYTES + 1)).toString("latin1");
    for (let end = this.end; end >= 0; end = this.end) {
      const head = this.text.slice(this.start, end);
      this.start = end + END.length;
      if (INTERIM.test(head)) continue;
      this.text = "";
      this.take(head);
      this.isRead = true;
      return bytes.subarray(this.start - before);
    }
    if (this.text.length > MAX_BYTES) throw new Error("it does not come to its answer");
    return null;
  }

  private get end(): number {
    return this.text.indexOf(END, this.start);
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
