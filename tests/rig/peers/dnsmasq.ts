import { writeFileSync } from "node:fs";
import { Daemon } from "../tools/daemon.ts";
import type { Lab } from "../tools/lab.ts";

/** Debian's dnsmasq in a namespace. */
export class Dnsmasq {
  private readonly daemon: Daemon;

  constructor(
    lab: Lab,
    namespace: string,
    private readonly config: string,
  ) {
    this.daemon = new Daemon(lab, namespace, "dnsmasq");
  }

  start(): void {
    const [config, leases] = [this.daemon.file("conf"), this.daemon.file("leases")];
    writeFileSync(config, this.config, { mode: 0o644 });
    this.daemon.start([
      ...["--keep-in-foreground", "--user=root", "--log-facility=-", "--log-dhcp", "--pid-file="],
      ...[`--conf-file=${config}`, `--dhcp-leasefile=${leases}`],
    ]);
  }

  get pid(): number {
    return this.daemon.pid;
  }

  stop(signal?: NodeJS.Signals): Promise<void> {
    return this.daemon.stop(signal);
  }

  log(): string {
    return this.daemon.log();
  }
}
