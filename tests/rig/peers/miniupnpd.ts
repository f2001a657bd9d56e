import { writeFileSync } from "node:fs";
import { join } from "node:path";
import { commandIn } from "../../../src/sandbox/namespace.ts";
import { CLIENT_ENVIRONMENT, UNPACKED } from "../tools/client-programs.ts";
import type { Lab } from "../tools/lab.ts";

const PROGRAM = join(UNPACKED, "usr/sbin/miniupnpd");
/** Debian's description of how its rules are called. */
const CHAINS = `add table inet filter
delete table inet filter
table inet filter {
  chain forward { type filter hook forward priority 0; policy accept; jump miniupnpd; }
  chain prerouting { type nat hook prerouting priority dstnat - 1; policy accept; jump prerouting_miniupnpd; }
  chain postrouting { type nat hook postrouting priority srcnat - 1; policy accept; jump postrouting_miniupnpd; }
  chain miniupnpd { }
  chain prerouting_miniupnpd { }
  chain postrouting_miniupnpd { }
}
`;
/**
 * It takes no documentation address for one of the internet. The lab's router has this one besides its own; nothing
 * leaves the lab.
 */
export const ROUTER_ADDRESS = "45.13.7.2";

/**
 * The service's requests for a port, as a sniffer on the cable describes them; UPnP's are to miniupnpd's port, and its
 * search goes to the group as well.
 */
export const TO_HOME_ROUTER =
  /^(192\.168\.88\.2 > (192\.168\.88\.1|239\.255\.255\.250)|192\.168\.77\.1 > (192\.168\.77\.254|239\.255\.255\.250)) (UDP \d+ > (5351|1900), \d+ bytes|TCP \d+ > 5000)$/;

interface Options {
  /** PCP and NAT-PMP, which are one there. */
  natPmp: boolean;
  upnp: boolean;
}

/** The home router of a lab with Debian's miniupnpd, which forwards ports to computers that ask. */
export class Miniupnpd {
  private constructor(
    private readonly lab: Lab,
    private readonly child: Bun.Subprocess,
  ) {}

  /** It has no ports yet. */
  static async start(lab: Lab, { natPmp, upnp }: Options): Promise<Miniupnpd> {
    const { router } = lab.namespaces;
    await lab.exec(router, ["ip", "address", "replace", `${ROUTER_ADDRESS}/32`, "dev", "wan0"]);
    const { stderr } = await lab.exec(router, ["nft", "-f", "-"], CHAINS);
    if (stderr !== "") throw new Error(stderr);
    const file = join(lab.sandbox.directory, "miniupnpd.conf");
    const lines = [
      ...["ext_ifname=wan0", `ext_ip=${ROUTER_ADDRESS}`, "listening_ip=lan0", "http_port=5000"],
      ...[`enable_natpmp=${natPmp ? "yes" : "no"}`, `enable_upnp=${upnp ? "yes" : "no"}`],
      ...["upnp_table_name=filter", "upnp_nat_table_name=filter", "upnp_forward_chain=miniupnpd"],
      ...["upnp_nat_chain=prerouting_miniupnpd", "upnp_nat_postrouting_chain=postrouting_miniupnpd"],
      ...["secure_mode=yes", "uuid=00000000-0000-0000-0000-000000000001", "allow 1-65535 0.0.0.0/0 1-65535"],
    ];
    writeFileSync(file, `${lines.join("\n")}\n`);
    const argv = [PROGRAM, "-d", "-f", file, "-P", join(lab.sandbox.directory, "miniupnpd.pid")];
    const child = Bun.spawn(commandIn(router, argv), {
      ...{ stdin: "ignore", stdout: "ignore", stderr: "pipe" },
      env: { ...CLIENT_ENVIRONMENT },
    });
    await listening(child.stderr, natPmp ? "Listening for NAT-PMP" : "HTTP listening");
    return new Miniupnpd(lab, child);
  }

  /** The redirections that it has made, a line for each. */
  async ports(): Promise<string[]> {
    const list = ["nft", "list", "chain", "inet", "filter", "prerouting_miniupnpd"];
    const { stdout } = await this.lab.exec(this.lab.namespaces.router, list);
    return stdout.split("\n").filter((line) => line.includes(" dnat "));
  }

  /** Its ports stay, as in a crash; the next start has none. */
  async stop(): Promise<void> {
    this.child.kill("SIGKILL");
    await this.child.exited;
  }
}

async function listening(output: ReadableStream<Uint8Array>, word: string): Promise<void> {
  let text = "";
  const reader = output.getReader();
  while (!text.includes(word)) {
    const { done, value } = await reader.read();
    if (done) throw new Error(`miniupnpd ended: ${text}`);
    text += new TextDecoder().decode(value);
  }
  // What it writes from now on is read, so that it never waits.
  void (async () => {
    while (!(await reader.read()).done);
  })();
}
