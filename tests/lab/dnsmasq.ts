import { closeSync, existsSync, openSync, readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import type { Lab } from "./lab.ts";

/** Debian's dnsmasq in a namespace, with files of its own; it ends with the lab. */
export class Dnsmasq {
  private child: Bun.Subprocess | null = null;

  constructor(
    private readonly lab: Lab,
    private readonly namespace: string,
    private readonly config: string,
  ) {}

  start(): void {
    writeFileSync(this.file("conf"), this.config, { mode: 0o644 });
    const log = openSync(this.file("log"), "a", 0o600);
    const files = [`--conf-file=${this.file("conf")}`, `--dhcp-leasefile=${this.file("leases")}`];
    this.child = Bun.spawn(
      [
        ...["ip", "netns", "exec", this.namespace, "dnsmasq"],
        ...["--keep-in-foreground", "--user=root", "--log-facility=-", "--log-dhcp", "--pid-file=", ...files],
      ],
      { stdin: "ignore", stdout: log, stderr: log },
    );
    closeSync(log);
  }

  async stop(signal: NodeJS.Signals = "SIGTERM"): Promise<void> {
    this.child?.kill(signal);
    await this.child?.exited;
  }

  log(): string {
    return existsSync(this.file("log")) ? readFileSync(this.file("log"), "utf8") : "";
  }

  private file(name: string): string {
    return join(this.lab.sandbox.directory, `${this.namespace}-dnsmasq.${name}`);
  }
}
