import { closeSync, existsSync, openSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { ROUTER } from "../../../src/sandbox/topology.ts";
import type { Lab } from "../tools/lab.ts";
import { CARD_MAC } from "./guest.ts";
import type { Variant } from "./variant.ts";

/** The shortest lease that dnsmasq gives. */
const LEASE_S = 120;

/** The home router's DHCP server. The lab ends it with its namespace. */
export class DhcpServer {
  private readonly log: string;
  private child: Bun.Subprocess | null = null;
  private given = "";

  constructor(
    private readonly lab: Lab,
    private readonly cables: Variant["cables"],
    folder: string,
    /** What the machine's second card gets, if it asks. */
    private readonly second: string | null = null,
  ) {
    this.log = join(folder, "dhcp.log");
  }

  /** What the machine gets. */
  get address(): string {
    return this.given;
  }

  /** From now on the machine gets this address, and loses any other when it asks for more time. */
  async give(address: string): Promise<void> {
    this.child?.kill("SIGKILL");
    await this.child?.exited;
    this.given = address;
    const { v4 } = ROUTER.lan[this.cables];
    const options = [
      ...["--no-daemon", "--conf-file=/dev/null", "--port=0", "--interface=lan0", "--bind-interfaces"],
      ...[`--dhcp-range=${v4},static,255.255.255.0,${LEASE_S}`, "--leasefile-ro", "--no-ping"],
      ...[`--dhcp-host=${CARD_MAC.eth0},${address},${LEASE_S}`, "--dhcp-authoritative"],
      ...(this.second === null ? [] : [`--dhcp-host=${CARD_MAC.eth1},${this.second},${LEASE_S}`]),
      ...[`--dhcp-option=3,${v4}`, `--dhcp-option=6,${v4}`],
    ];
    const log = openSync(this.log, "w");
    this.child = Bun.spawn(["ip", "netns", "exec", this.lab.namespaces.router, "dnsmasq", ...options], {
      stdin: "ignore",
      stdout: "ignore",
      stderr: log,
    });
    closeSync(log);
  }

  /** How many such messages there were since the last `give`: `DHCPACK(lan0) 192.168.88.2`. */
  count(message: string): number {
    const text = existsSync(this.log) ? readFileSync(this.log, "utf8") : "";
    return text.split(`${message} `).length - 1;
  }
}
