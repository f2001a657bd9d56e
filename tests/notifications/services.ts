/** Services that take notifications, as their documentation describes them; each notes what it was sent. */
export interface Service {
  url: string;
  /** What was delivered, without what differs from time to time. */
  readonly taken: Record<string, unknown>[];
  stop(): Promise<void>;
}

type Answer = (request: Request, body: Record<string, unknown>) => Response | Record<string, unknown>;

/** Where a service listens; by default at a free port of this machine. */
interface At {
  hostname?: string;
  port?: number;
  tls?: { cert: string; key: string };
  /** Gets what is delivered, and from which address. */
  note?: (taken: Record<string, unknown>, from: string) => void;
}

/** https://docs.ntfy.sh/publish/#publish-as-json, and its errors (server/errors.go); one topic needs the token. */
export function startNtfy(token = "tk_secret", at: At = {}): Service {
  return start(at, (request, { topic, title, message, priority, ...more }) => {
    if (new URL(request.url).pathname !== "/" || request.method !== "POST") return json(404, { code: 40401 });
    if (request.headers.get("authorization") !== `Bearer ${token}`)
      return json(401, { code: 40101, http: 401, error: "unauthorized" });
    if (typeof topic !== "string" || !/^[-_A-Za-z0-9]{1,64}$/.test(topic)) return json(400, { code: 40009 });
    const isPriority = Number.isInteger(priority) && Number(priority) >= 1 && Number(priority) <= 5;
    if (!isPriority || Object.keys(more).length > 0) return json(400, { code: 40007 });
    return { topic, title, message, priority };
  });
}

/** https://gotify.net/api-docs, createMessage. */
export function startGotify(token = "AbCdEf.12345", at: At = {}): Service {
  return start(at, (request, { title, message, priority, ...more }) => {
    if (new URL(request.url).pathname !== "/message")
      return json(404, { error: "Not Found", errorCode: 404 });
    if (request.headers.get("x-gotify-key") !== token)
      return json(401, { error: "Unauthorized", errorCode: 401 });
    if (typeof message !== "string" || message === "" || Object.keys(more).length > 0)
      return json(400, { error: "Bad Request", errorCode: 400 });
    return { title, message, priority };
  });
}

/** Takes any JSON. */
export function startWebhook(at: At = {}): Service {
  return start(at, (request, body) => ({
    path: new URL(request.url).pathname + new URL(request.url).search,
    authorization: request.headers.get("authorization"),
    ...body,
  }));
}

function start({ hostname = "127.0.0.1", port = 0, tls, note }: At, answer: Answer): Service {
  const taken: Record<string, unknown>[] = [];
  const server = Bun.serve({
    hostname,
    port,
    ...(tls && { tls }),
    fetch: async (request, self) => {
      if (request.headers.get("content-type") !== "application/json") return json(415, {});
      const answered = answer(request, (await request.json()) as Record<string, unknown>);
      if (answered instanceof Response) return answered;
      taken.push(answered);
      note?.(answered, self.requestIP(request)?.address ?? "");
      return json(200, { id: "1", ...answered });
    },
  });
  return {
    url: `${hostname}:${server.port}`,
    taken,
    stop: () => server.stop(true),
  };
}

function json(status: number, body: object): Response {
  return Response.json(body, { status });
}
