import { appendFileSync, existsSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { commandIn } from "../../../src/sandbox/namespace.ts";
import { INTERNET } from "../../../src/sandbox/topology.ts";
import type { HttpsRequest } from "../../../src/system/host.ts";
import { FakeProvider } from "../../providers/mullvad/provider.ts";
import { makeCertificate } from "../../system/certificate.ts";
import type { Lab } from "../tools/lab.ts";

const NAME = "internet.test";

/** A provider of accounts at `https://internet.test/` in the lab's internet, which notes what it is asked. */
export class ProviderSite {
  readonly address = `https://${NAME}`;

  private constructor(
    private readonly folder: string,
    private readonly child: Bun.Subprocess,
  ) {}

  static async start(lab: Lab): Promise<ProviderSite> {
    const folder = lab.sandbox.directory;
    await makeCertificate(folder, NAME);
    rmSync(join(folder, "paused"), { force: true });
    const argv = [process.execPath, import.meta.path, folder];
    const child = Bun.spawn(commandIn(lab.namespaces.internet, argv), { stdin: "ignore", stdout: "pipe" });
    await child.stdout.getReader().read();
    return new ProviderSite(folder, child);
  }

  /** The file with the certificate of its authority. */
  get certificate(): string {
    return join(this.folder, "certificate.pem");
  }

  /** The environment of a service that trusts this provider. */
  get environment(): Record<string, string> {
    return { NODE_EXTRA_CA_CERTS: this.certificate };
  }

  /** Method and first words of the path, and from which address, since the last call. */
  visits(): string[] {
    const file = join(this.folder, "visits");
    const text = existsSync(file) ? readFileSync(file, "utf8") : "";
    writeFileSync(file, "");
    return text.split("\n").filter((line) => line !== "");
  }

  /** From now on it refuses whatever it is asked. */
  pause(): void {
    writeFileSync(join(this.folder, "paused"), "");
  }

  resume(): void {
    rmSync(join(this.folder, "paused"));
  }

  async stop(): Promise<void> {
    this.child.kill("SIGKILL");
    await this.child.exited;
  }
}

function serve(folder: string): void {
  const provider = new FakeProvider();
  const textOf = (name: string) => readFileSync(join(folder, name), "utf8");
  Bun.serve({
    hostname: INTERNET.host4,
    port: 443,
    tls: { cert: textOf("certificate.pem"), key: textOf("key.pem") },
    fetch: async (request, server) => {
      const { pathname } = new URL(request.url);
      const path = pathname.replace(/\/[0-9a-f-]{36}/, "/ID");
      appendFileSync(
        join(folder, "visits"),
        `${request.method} ${path} from ${server.requestIP(request)?.address}\n`,
      );
      if (existsSync(join(folder, "paused"))) return new Response("", { status: 503 });
      const text = await request.text();
      const { status, headers, body } = provider.answer({
        url: request.url,
        method: request.method as HttpsRequest["method"],
        headers: Object.fromEntries(request.headers),
        ...(text !== "" && { body: text }),
      });
      return new Response(status === 204 ? null : body, { status, headers });
    },
  });
  console.log("ready");
}

if (import.meta.main) serve(process.argv[2] ?? "");
