import { appendFileSync, existsSync, readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { commandIn } from "../../../src/sandbox/namespace.ts";
import { INTERNET } from "../../../src/sandbox/topology.ts";
import { makeCertificate } from "../../system/certificate.ts";
import type { Lab } from "../tools/lab.ts";

/** A request as the website has noted it. */
export interface Visit {
  path: string;
  /** The visitor's address. */
  from: string;
  /** `If-None-Match`, or null. */
  etag: string | null;
  status: number;
}

/** `https://internet.test/` in the lab's internet: shows the files of a folder and some downloads, and notes who comes. */
export class Website {
  private constructor(
    private readonly folder: string,
    private readonly child: Bun.Subprocess,
  ) {}

  static async start(lab: Lab): Promise<Website> {
    const folder = lab.sandbox.directory;
    await makeCertificate(folder, "internet.test");
    const argv = [process.execPath, import.meta.path, folder];
    const child = Bun.spawn(commandIn(lab.namespaces.internet, argv), { stdin: "ignore", stdout: "pipe" });
    await child.stdout.getReader().read();
    return new Website(folder, child);
  }

  /** The environment of a service that trusts this website. */
  get environment(): Record<string, string> {
    return { NODE_EXTRA_CA_CERTS: join(this.folder, "certificate.pem") };
  }

  show(path: string, content: string | Uint8Array): void {
    writeFileSync(join(this.folder, `page-${path}`), content);
  }

  /** From now on every answer takes so long. */
  dawdle(ms: number): void {
    writeFileSync(join(this.folder, "pause"), String(ms));
  }

  /** Who came since the last call. */
  visits(): Visit[] {
    const file = join(this.folder, "visits");
    const text = existsSync(file) ? readFileSync(file, "utf8") : "";
    writeFileSync(file, "");
    return text
      .split("\n")
      .filter((line) => line !== "")
      .map((line) => JSON.parse(line));
  }

  async stop(): Promise<void> {
    this.child.kill("SIGKILL");
    await this.child.exited;
  }
}

const PIECE = new Uint8Array(65_536);

/** What a speed test may find; `silent` sends no more after a while. */
const DOWNLOADS: Record<string, () => Response> = {
  endless: () => new Response(silentAfter(Number.POSITIVE_INFINITY)),
  silent: () => new Response(silentAfter(8)),
  small: () => new Response("small"),
  moved: () => Response.redirect("https://internet.test/endless"),
};

function silentAfter(pieces: number): ReadableStream {
  let left = pieces;
  return new ReadableStream({
    pull: async (controller) => {
      left -= 1;
      if (left >= 0) controller.enqueue(PIECE);
      else await new Promise(() => {});
    },
  });
}

function serve(folder: string): void {
  const textOf = (name: string) =>
    existsSync(join(folder, name)) ? readFileSync(join(folder, name), "utf8") : null;
  Bun.serve({
    hostname: INTERNET.host4,
    port: 443,
    tls: { cert: textOf("certificate.pem") ?? "", key: textOf("key.pem") ?? "" },
    idleTimeout: 0,
    fetch: async (request, server) => {
      const path = new URL(request.url).pathname.slice(1);
      const download = DOWNLOADS[path];
      if (download !== undefined) return download();
      const file = join(folder, `page-${path}`);
      const page = existsSync(file) ? readFileSync(file) : null;
      const etag = page === null ? "" : `"${Bun.hash(page)}"`;
      const known = request.headers.get("if-none-match");
      const status = page === null ? 404 : known === etag ? 304 : 200;
      const from = server.requestIP(request)?.address ?? "";
      appendFileSync(
        join(folder, "visits"),
        `${JSON.stringify({ path, from, etag: known, status } satisfies Visit)}\n`,
      );
      await Bun.sleep(Number(textOf("pause") ?? 0));
      return new Response(status === 200 ? page : null, { status, headers: { ETag: etag } });
    },
  });
  console.log("ready");
}

if (import.meta.main) serve(process.argv[2] ?? "");
