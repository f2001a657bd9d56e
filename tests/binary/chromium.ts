import { type ChildProcess, spawn } from "node:child_process";
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import type { Readable, Writable } from "node:stream";

/** A headless browser takes a second to start and another to render; a busy machine takes many times that. */
const ANSWERS_WITHIN_MS = 120_000;

type Parameters = Record<string, unknown>;

// biome-ignore lint/suspicious/noExplicitAny: the tests check what the browser sends
type Message = any;

/** A browser in a network namespace, driven over pipes, so that it needs no port. */
export class Chromium {
  /** The page's requests and console messages. */
  readonly urls: string[] = [];
  readonly complaints: string[] = [];
  private readonly waiting = new Map<number, (message: Message) => void>();
  private session: string | null = null;
  private count = 0;

  private constructor(
    private readonly child: ChildProcess,
    private readonly profile: string,
  ) {
    let rest = "";
    (child.stdio[4] as Readable).setEncoding("utf8").on("data", (chunk: string) => {
      const messages = (rest + chunk).split("\0");
      rest = messages.pop() ?? "";
      for (const message of messages) this.receive(JSON.parse(message));
    });
  }

  static async start(namespace: string): Promise<Chromium> {
    const profile = mkdtempSync(join(tmpdir(), "portcullis-chromium-"));
    const flags = ["--remote-debugging-pipe", "--no-sandbox", `--user-data-dir=${profile}`];
    const size = ["--window-size=1200,1400", "about:blank"];
    const argv = ["netns", "exec", namespace, "chromium-headless-shell", ...flags, ...size];
    const child = spawn("ip", argv, { stdio: ["ignore", "ignore", "ignore", "pipe", "pipe"] });
    const browser = new Chromium(child, profile);
    const { targetInfos } = await browser.send("Target.getTargets");
    const { targetId } = targetInfos.find(({ type }: Message) => type === "page");
    const { sessionId } = await browser.send("Target.attachToTarget", { targetId, flatten: true });
    browser.session = sessionId;
    for (const domain of ["Page", "Network", "Runtime", "Log"]) await browser.send(`${domain}.enable`);
    return browser;
  }

  open(url: string): Promise<Message> {
    return this.send("Page.navigate", { url });
  }

  /** Evaluates an expression in the page; a promise is awaited. */
  async evaluate(expression: string): Promise<Message> {
    const options = { expression, returnByValue: true, awaitPromise: true };
    const { result, exceptionDetails } = await this.send("Runtime.evaluate", options);
    if (exceptionDetails !== undefined) throw new Error(exceptionDetails.exception?.description);
    return result.value;
  }

  /** Waits until the expression is true in the page. */
  async until(expression: string): Promise<void> {
    const deadline = performance.now() + ANSWERS_WITHIN_MS;
    while ((await this.evaluate(expression)) !== true) {
      if (performance.now() > deadline) throw new Error(`the page never has ${expression}`);
      await Bun.sleep(50);
    }
  }

  /** A PNG screenshot. */
  async screenshot(): Promise<Uint8Array> {
    const { data } = await this.send("Page.captureScreenshot");
    return Uint8Array.fromBase64(data);
  }

  async close(): Promise<void> {
    const { promise, resolve } = Promise.withResolvers<void>();
    this.child.once("exit", () => resolve());
    this.child.kill("SIGKILL");
    await promise;
    // Its child processes end with it, and may write until they do.
    rmSync(this.profile, { recursive: true, force: true, maxRetries: 5, retryDelay: 100 });
  }

  private async send(method: string, params: Parameters = {}): Promise<Message> {
    const id = ++this.count;
    const { promise, resolve, reject } = Promise.withResolvers<Message>();
    const timer = setTimeout(
      () => reject(new Error(`${method}: the browser does not answer`)),
      ANSWERS_WITHIN_MS,
    );
    this.waiting.set(id, resolve);
    const session = this.session === null ? {} : { sessionId: this.session };
    (this.child.stdio[3] as Writable).write(`${JSON.stringify({ id, method, params, ...session })}\0`);
    const { result, error } = await promise.finally(() => clearTimeout(timer));
    if (error !== undefined) throw new Error(`${method}: ${error.message}`);
    return result;
  }

  private receive(message: Message): void {
    const { id, method, params } = message;
    this.waiting.get(id)?.(message);
    this.waiting.delete(id);
    if (method === "Network.requestWillBeSent") this.urls.push(params.request.url);
    if (method === "Network.webSocketCreated") this.urls.push(params.url);
    if (method === "Log.entryAdded") this.complaints.push(params.entry.text);
    if (method === "Runtime.exceptionThrown") this.complaints.push(params.exceptionDetails.text);
    if (method === "Runtime.consoleAPICalled" && ["error", "warning", "assert"].includes(params.type)) {
      this.complaints.push(JSON.stringify(params.args));
    }
  }
}
