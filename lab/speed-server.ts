import { readFileSync } from "node:fs";
import { join } from "node:path";
import { commandIn } from "../src/sandbox/namespace.ts";
import { INTERNET } from "../src/sandbox/topology.ts";
import { makeCertificate } from "../tests/system/certificate.ts";
import type { Lab } from "./lab.ts";

const PIECE = new Uint8Array(65_536);

/** `https://internet.test/` in the lab's internet, with what a speed test may find. */
export class SpeedServer {
  private constructor(
    private readonly folder: string,
    private readonly child: Bun.Subprocess,
  ) {}

  static async start(lab: Lab): Promise<SpeedServer> {
    const folder = lab.sandbox.directory;
    await makeCertificate(folder, "internet.test");
    const argv = [process.execPath, import.meta.path, folder];
    const child = Bun.spawn(commandIn(lab.namespaces.internet, argv), { stdin: "ignore", stdout: "pipe" });
    await child.stdout.getReader().read();
    return new SpeedServer(folder, child);
  }

  /** The environment of a service that trusts it. */
  get environment(): Record<string, string> {
    return { NODE_EXTRA_CA_CERTS: join(this.folder, "certificate.pem") };
  }

  async stop(): Promise<void> {
    this.child.kill("SIGKILL");
    await this.child.exited;
  }
}

/** `/endless` has no end, `/small` has nothing to measure, `/moved` points to it, `/silent` stops after a while. */
function serve(folder: string): void {
  const textOf = (name: string) => readFileSync(join(folder, name), "utf8");
  const bodyOf = (pieces: number) => {
    let left = pieces;
    return new ReadableStream({
      pull: async (controller) => {
        left -= 1;
        if (left >= 0) controller.enqueue(PIECE);
        else await new Promise(() => {});
      },
    });
  };
  Bun.serve({
    hostname: INTERNET.host4,
    port: 443,
    tls: { cert: textOf("certificate.pem"), key: textOf("key.pem") },
    idleTimeout: 0,
    fetch: (request) => {
      const { pathname } = new URL(request.url);
      if (pathname === "/endless") return new Response(bodyOf(Number.POSITIVE_INFINITY));
      if (pathname === "/silent") return new Response(bodyOf(8));
      if (pathname === "/small") return new Response("small");
      if (pathname === "/moved") return Response.redirect("https://internet.test/endless");
      return new Response(null, { status: 404 });
    },
  });
  console.log("ready");
}

if (import.meta.main) serve(process.argv[2] ?? "");
