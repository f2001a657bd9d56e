import type { IncomingMessage, RequestListener, ServerResponse } from "node:http";
import type { HttpsRequest, Send } from "../../../src/system/host.ts";

/** Serves what `send` answers; if it throws, closes the connection without an answer. */
export function serveProvider(send: Send): RequestListener {
  return (request, response) => {
    void answer(send, request, response).catch(() => request.socket.destroy());
  };
}

async function answer(send: Send, request: IncomingMessage, response: ServerResponse): Promise<void> {
  const chunks: Buffer[] = [];
  for await (const chunk of request as AsyncIterable<Buffer>) chunks.push(chunk);
  const headers = Object.entries(request.headers).map(([name, value]) => [name, String(value)]);
  const {
    status,
    headers: back,
    body,
  } = await send({
    url: `https://${request.headers.host}${request.url}`,
    method: request.method as HttpsRequest["method"],
    headers: Object.fromEntries(headers),
    ...(chunks.length > 0 && { body: Buffer.concat(chunks).toString() }),
  });
  response.writeHead(status, back).end(body);
}
