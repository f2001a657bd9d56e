import { readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { LAN, ROUTER } from "../../../src/sandbox/topology.ts";
import { Daemon } from "../tools/daemon.ts";
import type { Lab } from "../tools/lab.ts";

/** The address that keepalived moves between the gateways. */
export const SHARED = "192.168.77.4";
/** The second gateway's own. */
const OTHER = "192.168.77.2";
const DOCUMENT = join(import.meta.dir, "../../../docs/raspberry-pi.md");

/** A second gateway's namespace on the switch of a lab with one card; the client uses the shared address as router. */
export async function plugInGateway(lab: Lab): Promise<string> {
  const namespace = `${lab.sandbox.id}-other`;
  const { v4, v6 } = ROUTER.lan[1];
  await batch(lab, [], [`netns add ${namespace}`]);
  await batch(
    lab,
    ["-n", lab.namespaces.switch],
    [
      `link add other type veth peer lan0 netns ${namespace}`,
      "link set dev other master switch",
      "link set dev other up",
    ],
  );
  await batch(
    lab,
    ["-n", namespace],
    [
      "link set lo up",
      `address add ${OTHER}/24 dev lan0`,
      "address add fd77::2/64 dev lan0 nodad",
      "link set lan0 up",
      `route add default via ${v4} dev lan0`,
      `route add default via ${v6} dev lan0`,
    ],
  );
  await batch(lab, ["-n", lab.namespaces.client], [`route replace default via ${SHARED}`]);
  return namespace;
}

/** A gateway's configuration of keepalived as documented, with the lab's addresses. */
export function documented(role: "MASTER" | "BACKUP", port: number): string {
  const [, section = ""] = readFileSync(DOCUMENT, "utf8").split("## Two gateways for one home");
  const [, text = ""] = /^```\n(global_defs .*?)^```$/ms.exec(section) ?? [];
  const [own, other] = role === "MASTER" ? [LAN.gateway4, OTHER] : [OTHER, LAN.gateway4];
  const replaced = {
    "state MASTER": `state ${role}`,
    "priority 110": `priority ${role === "MASTER" ? 110 : 100}`,
    "interface eth0": "interface lan0",
    "unicast_src_ip 192.168.1.2": `unicast_src_ip ${own}`,
    "unicast_peer { 192.168.1.3 }": `unicast_peer { ${other} }`,
    "192.168.1.4/24": `${SHARED}/24`,
  };
  return Object.entries(replaced)
    .reduce((config, [from, to]) => {
      if (!config.includes(from)) throw new Error(`the documented configuration has no ${from}`);
      return config.replace(from, to);
    }, text)
    .replaceAll(":5000/", `:${port}/`);
}

/** Debian's keepalived in a namespace. */
export class Keepalived {
  private readonly daemon: Daemon;
  /** How much the log had when it was started. */
  private logged = 0;

  constructor(
    lab: Lab,
    namespace: string,
    private readonly config: string,
  ) {
    this.daemon = new Daemon(lab, namespace, "keepalived");
  }

  start(): void {
    const config = this.daemon.file("conf");
    // It refuses a file that others may write or that is executable.
    writeFileSync(config, this.config, { mode: 0o600 });
    this.logged = this.daemon.log().length;
    this.daemon.start([
      ...["--dont-fork", "--vrrp", "--log-console", "--no-syslog", "--use-file", config],
      ...["--pid", this.daemon.file("pid"), "--vrrp_pid", this.daemon.file("vrrp-pid")],
    ]);
  }

  /** What it has not liked about its configuration since it was started. */
  complaints(): string[] {
    const lines = this.daemon.log().slice(this.logged).split("\n");
    return lines.filter((line) => /ignoring|unknown|warning|security|error/i.test(line));
  }

  /** Ends it as the operator does: it gives the address up. */
  stop(): Promise<void> {
    return this.daemon.stop();
  }
}

/** All that a power cut ends: every process, the cable's carrier, the moved address. Rules stay, as a boot sets them first. */
export async function cutPower(lab: Lab): Promise<void> {
  const { gateway } = lab.namespaces;
  // One that has ended meanwhile is no fault.
  await lab.outside(["sh", "-c", 'ip netns pids "$0" | xargs -r kill -KILL', gateway]);
  await lab.unplug();
  await lab.exec(gateway, ["ip", "address", "del", `${SHARED}/24`, "dev", "lan0"]);
}

async function batch(lab: Lab, where: readonly string[], lines: readonly string[]): Promise<void> {
  const { stderr } = await lab.outside(["ip", ...where, "-batch", "-"], `${lines.join("\n")}\n`);
  if (stderr !== "") throw new Error(stderr);
}
