export interface Answer {
  status: number;
  headers: Headers;
  /** An error's without its arguments, which tests/base/refusals.test.ts holds to its sentence. */
  text: string;
  args?: Readonly<Record<string, string | number>>;
  /** What came after the body. */
  rest: string;
  // biome-ignore lint/suspicious/noExplicitAny: what came over the wire is for the test to judge
  json: any;
}

/** A request as it stands on the wire; a body is JSON unless the headers say otherwise, and an object is written as such. */
export function request(
  method: string,
  path: string,
  body?: string | Uint8Array | object,
  headers: Record<string, string> = {},
): Uint8Array {
  const isRaw = body === undefined || typeof body === "string" || body instanceof Uint8Array;
  const bytes = Buffer.from(isRaw ? (body ?? "") : JSON.stringify(body));
  const defaults = body === undefined ? {} : { "Content-Type": "application/json" };
  const framing =
    body === undefined || "Transfer-Encoding" in headers ? {} : { "Content-Length": bytes.length };
  const all = { Host: "localhost", Connection: "close", ...defaults, ...framing, ...headers };
  const lines = Object.entries(all).map(([name, value]) => `${name}: ${value}\r\n`);
  return Buffer.concat([Buffer.from(`${method} ${path} HTTP/1.1\r\n${lines.join("")}\r\n`), bytes]);
}

/** Sends bytes and collects the answer until the server closes. */
export async function exchange(port: number, bytes: string | Uint8Array): Promise<Answer> {
  const received: Uint8Array[] = [];
  const { promise, resolve, reject } = Promise.withResolvers<void>();
  let rest = Buffer.from(bytes);
  const write = (socket: Bun.Socket) => {
    rest = rest.subarray(socket.write(rest));
  };
  await Bun.connect({
    hostname: "127.0.0.1",
    port,
    socket: {
      open: write,
      drain: write,
      data: (_, chunk) => void received.push(Buffer.from(chunk)),
      close: () => resolve(),
      error: (_, error) => reject(error),
    },
  });
  await promise;
  return answerFrom(Buffer.concat(received).toString());
}

/** An answer as it stands on the wire; status 0 where nothing came. */
export function answerFrom(text: string): Answer {
  const end = text.indexOf("\r\n\r\n");
  const [first = "", ...lines] = text.slice(0, end).split("\r\n");
  const headers = new Headers(lines.map((line) => line.split(": ", 2) as [string, string]));
  // A length counts bytes; the texts before it in the buffer are ASCII.
  const bytes = Buffer.from(text.slice(end + 4));
  const length = bytes.length === 0 ? 0 : Number(headers.get("content-length") ?? bytes.length);
  const body = bytes.subarray(0, length).toString();
  const isJson = headers.get("content-type")?.startsWith("application/json") === true;
  const whole = isJson && body !== "" ? JSON.parse(body) : undefined;
  const isError = whole?.success === false && whole.args !== undefined;
  const { args, ...json } = isError ? whole : {};
  return {
    status: Number(first.split(" ")[1] ?? 0),
    headers,
    rest: bytes.subarray(length).toString(),
    ...(isError ? { text: JSON.stringify(json), json, args } : { text: body, json: whole }),
  };
}
