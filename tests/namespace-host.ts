import { inNamespace } from "../src/sandbox/namespace.ts";
import { challenge } from "../src/system/challenge.ts";
import { ConnectionTable } from "../src/system/conntrack.ts";
import { FirewallGeneration } from "../src/system/firewall-generation.ts";
import type { Host } from "../src/system/host.ts";
import { listenOn } from "../src/system/link-socket.ts";
import { LinuxHost } from "../src/system/linux.ts";
import { SetElements } from "../src/system/set-elements.ts";
import { openUdp } from "../src/system/udp-socket.ts";

/**
 * The real machine, as a program would have it that is started in a network namespace: a process, a socket or a file of
 * /proc stays in the one that the thread is in when it is opened. /sys and /etc are the machine's own.
 */
export class NamespaceHost extends LinuxHost {
  private readonly tracked = new ConnectionTable();
  private readonly elements = new SetElements();
  private readonly changes = new FirewallGeneration();

  constructor(private readonly netns: string) {
    super();
  }

  override run(...given: Parameters<Host["run"]>) {
    return this.inside(() => super.run(...given));
  }

  override listed(...given: Parameters<LinuxHost["listed"]>) {
    return this.inside(() => super.listed(...given));
  }

  override deleteLink(...given: Parameters<LinuxHost["deleteLink"]>) {
    return this.inside(() => super.deleteLink(...given));
  }

  override startDaemon(...given: Parameters<Host["startDaemon"]>) {
    return this.inside(() => super.startDaemon(...given));
  }

  override watch(...given: Parameters<Host["watch"]>) {
    return this.inside(() => super.watch(...given));
  }

  override read(...given: Parameters<Host["read"]>) {
    return this.inside(() => super.read(...given));
  }

  override writeSysctl(...given: Parameters<Host["writeSysctl"]>) {
    return this.inside(() => super.writeSysctl(...given));
  }

  override async listenOn(...given: Parameters<Host["listenOn"]>) {
    return this.inside(() => listenOn(...given));
  }

  override async openUdp(...given: Parameters<Host["openUdp"]>) {
    return this.inside(() => openUdp(...given));
  }

  override async endConnections(...given: Parameters<Host["endConnections"]>) {
    return this.inside(() => this.tracked.end(...given));
  }

  override macAt(...given: Parameters<Host["macAt"]>) {
    return this.inside(() => super.macAt(...given));
  }

  override changeElements(...given: Parameters<Host["changeElements"]>) {
    return this.inside(() => this.elements.change(...given));
  }

  override async firewallGeneration() {
    return this.inside(() => this.changes.read());
  }

  override async challenge(...given: Parameters<Host["challenge"]>) {
    return this.inside(() => challenge(...given));
  }

  private inside<T>(work: () => T): T {
    return inNamespace(this.netns, work);
  }
}
