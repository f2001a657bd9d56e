import { closeSync, openSync } from "node:fs";
import { join } from "node:path";
import type { Lab } from "../tools/lab.ts";

/** Another DHCP server on the LAN's cable, which makes itself the router; the lab ends it with its namespace. */
export class OtherServer {
  private constructor(private readonly child: Bun.Subprocess) {}

  static async start(lab: Lab): Promise<OtherServer> {
    const words = [
      ...["--keep-in-foreground", "--user=root", "--port=0", "--interface=lan0", "--bind-interfaces"],
      ...["--log-facility=-", "--pid-file", "--conf-file=/dev/null", "--leasefile-ro", "--no-ping"],
      "--dhcp-range=192.168.77.70,192.168.77.79,255.255.255.0,1h",
    ];
    const log = openSync(join(lab.sandbox.directory, "other.log"), "w", 0o600);
    const argv = ["ip", "netns", "exec", lab.namespaces.client, "dnsmasq", ...words];
    const child = Bun.spawn(argv, { stdin: "ignore", stdout: log, stderr: log });
    closeSync(log);
    return new OtherServer(child);
  }

  async stop(): Promise<void> {
    this.child.kill("SIGKILL");
    await this.child.exited;
  }
}
