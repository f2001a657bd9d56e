import { appendFileSync, existsSync, readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { commandIn } from "../../../src/sandbox/namespace.ts";
import { INTERNET } from "../../../src/sandbox/topology.ts";
import { makeCertificate } from "../../system/certificate.ts";
import type { Lab } from "../tools/lab.ts";

const CHUNK_BYTES = 65_536;

/** `https://internet.test/` in the lab's internet: gives the files of a folder, and notes who comes. */
export class Downloads {
  private constructor(
    private readonly folder: string,
    private readonly child: Bun.Subprocess,
  ) {}

  static async start(lab: Lab, files: string): Promise<Downloads> {
    const folder = lab.sandbox.directory;
    await makeCertificate(folder, "internet.test");
    const argv = [process.execPath, import.meta.path, folder, files];
    const child = Bun.spawn(commandIn(lab.namespaces.internet, argv), { stdin: "ignore", stdout: "pipe" });
    await child.stdout.getReader().read();
    return new Downloads(folder, child);
  }

  /** The file of its certificate, which is its own authority. */
  get certificate(): string {
    return join(this.folder, "certificate.pem");
  }

  /** The environment of a program that trusts this server. */
  get environment(): Record<string, string> {
    return { NODE_EXTRA_CA_CERTS: this.certificate };
  }

  /** From now on each chunk of a file takes so long. */
  dawdle(ms: number): void {
    writeFileSync(join(this.folder, "pause"), String(ms));
  }

  /** Who came since the last call, and for what. */
  visits(): { file: string; from: string }[] {
    const log = join(this.folder, "visits");
    const text = existsSync(log) ? readFileSync(log, "utf8") : "";
    writeFileSync(log, "");
    return text
      .split("\n")
      .filter((line) => line !== "")
      .map((line) => JSON.parse(line));
  }

  stop(): void {
    this.child.kill("SIGKILL");
  }
}

function serve(folder: string, files: string): void {
  const textOf = (name: string) => readFileSync(join(folder, name), "utf8");
  const pause = () => (existsSync(join(folder, "pause")) ? Number(textOf("pause")) : 0);
  Bun.serve({
    hostname: INTERNET.host4,
    port: 443,
    // Longer than the other end waits.
    idleTimeout: 120,
    tls: { cert: textOf("certificate.pem"), key: textOf("key.pem") },
    fetch: (request, server) => {
      const file = new URL(request.url).pathname.slice(1);
      const from = server.requestIP(request)?.address ?? "";
      appendFileSync(join(folder, "visits"), `${JSON.stringify({ file, from })}\n`);
      const path = join(files, file);
      if (!existsSync(path)) return new Response(null, { status: 404 });
      return new Response(chunksOf(readFileSync(path), pause));
    },
  });
  console.log("ready");
}

async function* chunksOf(bytes: Uint8Array, pause: () => number): AsyncGenerator<Uint8Array> {
  for (let at = 0; at < bytes.length; at += CHUNK_BYTES) {
    yield bytes.subarray(at, at + CHUNK_BYTES);
    await Bun.sleep(pause());
  }
}

if (import.meta.main) serve(process.argv[2] ?? "", process.argv[3] ?? "");
