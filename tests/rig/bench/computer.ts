import dgram from "node:dgram";
import { join } from "node:path";
import { INTERNET } from "../../../src/sandbox/topology.ts";
import { linesOf } from "../tools/lines.ts";
import { type Answered, askNames, type FirstUse, type Queries, useName } from "./asker.ts";
import { now } from "./clock.ts";

/** What a computer at home sees of the internet: an answer, or an error that comes back by itself. */
export type Sight = "answer" | "refusal";

export interface Called {
  sentAt: number;
  answeredAt: number;
  status: number;
  text: string;
}

type Order =
  | { do: "look"; until: Sight }
  | { do: "call"; method: string; url: string; body?: unknown }
  | { do: "call until 200"; url: string }
  | { do: "ask names"; queries: Queries }
  | { do: "use a name"; server: string; from: string; name: string; port: number };

/** Between two questions to the internet: bounds how exactly a moment is known. */
const LOOK_INTERVAL_MS = 1;
/** A tunnel that is not there by then does not come. */
const PATIENCE_MS = 15_000;

/** A computer on the LAN: it asks the internet, drives the gateway's HTTP interface, and notes when what came. */
export class Computer {
  private orders = 0;
  private readonly open = new Map<number, (answer: { value?: unknown; error?: string }) => void>();

  private constructor(private readonly child: Bun.Subprocess<"pipe", "pipe", "inherit">) {}

  static async start(namespace: string): Promise<Computer> {
    const program = [process.execPath, join(import.meta.dir, "computer.ts")];
    const child = Bun.spawn(["ip", "netns", "exec", namespace, ...program], {
      stdin: "pipe",
      stdout: "pipe",
      stderr: "inherit",
    });
    const computer = new Computer(child);
    const ready = Promise.withResolvers<void>();
    void computer.listen(() => ready.resolve());
    await ready.promise;
    return computer;
  }

  /** When the first answer, or the first refusal, came; throws where none does. */
  look(until: Sight): Promise<number> {
    return this.order<number>({ do: "look", until });
  }

  call(method: string, url: string, body?: unknown): Promise<Called> {
    return this.order<Called>({ do: "call", method, url, ...(body === undefined ? {} : { body }) });
  }

  /** When the address first answered with 200. */
  callUntil200(url: string): Promise<number> {
    return this.order<number>({ do: "call until 200", url });
  }

  askNames(queries: Queries): Promise<Answered> {
    return this.order<Answered>({ do: "ask names", queries });
  }

  useName(server: string, from: string, name: string, port: number): Promise<FirstUse> {
    return this.order<FirstUse>({ do: "use a name", server, from, name, port });
  }

  stop(): void {
    this.child.kill("SIGKILL");
  }

  private order<T>(order: Order): Promise<T> {
    const id = ++this.orders;
    const { promise, resolve, reject } = Promise.withResolvers<T>();
    this.open.set(id, ({ value, error }) =>
      error === undefined ? resolve(value as T) : reject(new Error(error)),
    );
    this.child.stdin.write(`${JSON.stringify({ id, order })}\n`);
    return promise;
  }

  private async listen(onReady: () => void): Promise<void> {
    for await (const line of linesOf(this.child.stdout)) {
      if (line === "ready") onReady();
      else {
        const { id, ...answer } = JSON.parse(line);
        this.open.get(id)?.(answer);
        this.open.delete(id);
      }
    }
  }
}

/** A new socket each time, so that no answer to an earlier question counts. */
async function look(until: Sight): Promise<number> {
  const seen = Promise.withResolvers<number>();
  const socket = dgram.createSocket("udp4");
  socket.on("error", () => until === "refusal" && seen.resolve(now()));
  socket.on("message", () => until === "answer" && seen.resolve(now()));
  socket.connect(7, INTERNET.host4);
  socket.on("connect", () => {
    const refused = (error: Error | null) => error !== null && socket.emit("error", error);
    const timer = setInterval(() => socket.send("?", refused), LOOK_INTERVAL_MS);
    void seen.promise.finally(() => clearInterval(timer)).catch(() => {});
  });
  const late = setTimeout(() => seen.reject(new Error(`no ${until} within ${PATIENCE_MS} ms`)), PATIENCE_MS);
  return seen.promise.finally(() => {
    clearTimeout(late);
    socket.close();
  });
}

async function call(method: string, url: string, body: unknown): Promise<Called> {
  const json = body === undefined ? {} : { body: JSON.stringify(body) };
  const headers = body === undefined ? {} : { "content-type": "application/json" };
  const sentAt = now();
  const response = await fetch(url, { method, headers, ...json });
  const text = await response.text();
  return { sentAt, answeredAt: now(), status: response.status, text };
}

async function callUntil200(url: string): Promise<number> {
  const deadline = now() + PATIENCE_MS;
  while (now() < deadline) {
    const response = await fetch(url).catch(() => null);
    if (response?.status === 200) return now();
    await Bun.sleep(LOOK_INTERVAL_MS);
  }
  throw new Error(`${url} does not answer`);
}

function obey(order: Order): Promise<unknown> {
  switch (order.do) {
    case "look":
      return look(order.until);
    case "call":
      return call(order.method, order.url, order.body);
    case "call until 200":
      return callUntil200(order.url);
    case "ask names":
      return askNames(order.queries);
    case "use a name":
      return useName(order.server, order.from, order.name, order.port);
  }
}

if (import.meta.main) {
  const say = (line: string) => process.stdout.write(`${line}\n`);
  say("ready");
  for await (const line of linesOf(Bun.stdin.stream())) {
    const { id, order } = JSON.parse(line);
    void obey(order).then(
      (value) => say(JSON.stringify({ id, value })),
      (error) => say(JSON.stringify({ id, error: String(error) })),
    );
  }
}
