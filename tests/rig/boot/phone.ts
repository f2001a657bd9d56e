import { chmodSync, closeSync, existsSync, mkdirSync, openSync, readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { INTERNET, LAN } from "../../../src/sandbox/topology.ts";
import type { Lab } from "../tools/lab.ts";

/** What udhcpc calls with each lease; the lease is kept in a file. */
const SCRIPT = `#!/bin/sh
case $1 in
  deconfig) ip -4 address flush dev $interface ;;
  bound|renew)
    ip address replace $ip/$mask dev $interface
    ip route replace default via $router dev $interface
    echo "$ip/$mask router $router dns $dns domain $domain lease $lease" >$LEASE ;;
esac
`;

/** A device at the LAN's cable that gets all that it knows from DHCP and router advertisements. */
export class Phone {
  static readonly mac = "02:00:00:00:30:01";
  static readonly hostName = "phone";
  readonly namespace: string;
  private readonly folder: string;
  private client: Bun.Subprocess | null = null;

  private constructor(private readonly lab: Lab) {
    this.namespace = `${lab.sandbox.id}-phone`;
    this.folder = join(lab.sandbox.directory, "phone");
  }

  /** It is gone with the lab. */
  static async plugIn(lab: Lab): Promise<Phone> {
    const phone = new Phone(lab);
    const { namespace, folder } = phone;
    mkdirSync(folder, { recursive: true });
    writeFileSync(join(folder, "script"), SCRIPT);
    chmodSync(join(folder, "script"), 0o755);
    mkdirSync(`/etc/netns/${namespace}`, { recursive: true });
    writeFileSync(`/etc/netns/${namespace}/resolv.conf`, `nameserver ${LAN.gateway4}\n`);
    await must(await lab.outside(["ip", "netns", "add", namespace]));
    const cable = `link add link lan0 name phone address ${Phone.mac} netns ${namespace} type macvlan mode private`;
    await must(await lab.exec(lab.namespaces.client, ["ip", ...cable.split(" ")]));
    // A namespace may have inherited a router's settings.
    await must(await phone.exec("sysctl", "-qw", "net.ipv6.conf.all.forwarding=0"));
    for (const words of ["link set lo up", "link set phone name lan0", "link set lan0 up"])
      await must(await phone.exec("ip", ...words.split(" ")));
    return phone;
  }

  /** Asks for a lease until one comes, and forgets the one before, as a device that is turned on. */
  async turnOn(): Promise<void> {
    this.client?.kill("SIGKILL");
    await this.client?.exited;
    writeFileSync(this.leaseFile, "");
    await this.exec("ip", "address", "flush", "dev", "lan0", "scope", "global");
    await this.exec("ip", "link", "set", "lan0", "down");
    await this.exec("ip", "link", "set", "lan0", "up");
    const words = ["-f", "-i", "lan0", "-t", "20", "-T", "3", "-x", `hostname:${Phone.hostName}`];
    const log = openSync(join(this.folder, "log"), "a", 0o600);
    this.client = Bun.spawn(
      ["ip", "netns", "exec", this.namespace, "udhcpc", ...words, "-s", join(this.folder, "script")],
      { env: { ...process.env, LEASE: this.leaseFile }, stdin: "ignore", stdout: log, stderr: log },
    );
    closeSync(log);
  }

  /** Asks the server for more time. */
  renew(): void {
    this.client?.kill("SIGUSR1");
  }

  /** The last lease as text; empty without one. */
  get lease(): string {
    return existsSync(this.leaseFile) ? readFileSync(this.leaseFile, "utf8").trim() : "";
  }

  /** From which address the internet sees it, by IPv4, by IPv6 or by name; null if the page does not come. */
  async page(way: 4 | 6 | "name"): Promise<string | null> {
    const host = { 4: INTERNET.host4, 6: `[${INTERNET.host6}]`, name: "internet.test" }[way];
    const { code, stdout } = await this.exec("curl", "-gsf", "-m", "10", `http://${host}/ip`);
    return code === 0 ? stdout.trim() : null;
  }

  exec(...argv: string[]) {
    return this.lab.exec(this.namespace, argv);
  }

  private get leaseFile(): string {
    return join(this.folder, "lease");
  }
}

async function must({ code, stderr }: { code: number; stderr: string }): Promise<void> {
  if (code !== 0) throw new Error(stderr);
}
