import { RELAY_MARK } from "../../../src/network/slot.ts";
import { addressesOf } from "../../../src/sandbox/addresses.ts";
import type { Lab, Ran } from "../tools/lab.ts";

/** These rules come and go with the tunnels over TCP. */
const OF_RELAYS = ` fwmark 0x${RELAY_MARK.toString(16)}/`;

/** The gateway's own network, the tunnel aside: what a scenario may break, and what it is brought back to. */
export class Network {
  private constructor(
    private readonly lab: Lab,
    private readonly addresses: string,
    private readonly rules: readonly string[],
  ) {}

  /** Remembers what is there now as what has to be. */
  static async remember(lab: Lab): Promise<Network> {
    return new Network(lab, await addressesIn(lab), await rulesIn(lab));
  }

  /** Whether every routing rule is there as it was, and no other. */
  async rulesStand(): Promise<boolean> {
    return (await rulesIn(this.lab)).join("\n") === this.rules.join("\n");
  }

  /** Removes what others have put in, makes links and addresses anew where they differ; returns whether they did. */
  async restore(): Promise<boolean> {
    await this.removeStrangers();
    if ((await addressesIn(this.lab)) === this.addresses) return false;
    const { lab } = this;
    await lab.plug();
    for (const link of cards(lab)) {
      await this.ip("link", "set", link, "down");
      await this.ip("address", "flush", "dev", link);
    }
    for (const family of ["-4", "-6"]) await this.ip(family, "route", "flush", "table", "main");
    const [, text] = addressesOf(lab.sandbox).find(([name]) => name === lab.namespaces.gateway) ?? [];
    await lab.exec(lab.namespaces.gateway, ["ip", "-force", "-batch", "-"], text);
    return true;
  }

  /** Tables of the firewall and routing rules that no gateway makes. */
  private async removeStrangers(): Promise<void> {
    const { lab } = this;
    const { stdout } = await lab.exec(lab.namespaces.gateway, ["nft", "list", "tables"]);
    for (const line of stdout.split("\n").filter((table) => table !== "" && !table.endsWith(" portcullis"))) {
      await lab.exec(lab.namespaces.gateway, ["nft", "delete", ...line.split(" ")]);
    }
    for (const rule of await rulesIn(lab)) {
      const [, family = "", priority = ""] = /^(-[46]) (\d+):/.exec(rule) ?? [];
      if (!this.rules.some((known) => known.startsWith(`${family} ${priority}:`))) {
        await this.ip(family, "rule", "del", "priority", priority);
      }
    }
  }

  private async ip(...words: string[]): Promise<void> {
    await this.lab.exec(this.lab.namespaces.gateway, ["ip", ...words]);
  }
}

function cards(lab: Lab): string[] {
  return [...new Set([lab.sandbox.lan, lab.sandbox.uplink])];
}

/** Addresses, link states and the machine's own routes as sorted text; the kernel lists them in no fixed order. */
async function addressesIn(lab: Lab): Promise<string> {
  const shown = await Promise.all([
    ...cards(lab).map((link) =>
      lab.exec(lab.namespaces.gateway, ["ip", "-o", "address", "show", "dev", link]),
    ),
    ...cards(lab).map((link) =>
      lab.exec(lab.namespaces.gateway, ["cat", `/sys/class/net/${link}/operstate`]),
    ),
    ...["-4", "-6"].map((family) =>
      lab.exec(lab.namespaces.gateway, ["ip", family, "route", "show", "table", "main"]),
    ),
  ]);
  const own = ({ stdout }: Ran) => stdout.split("\n").filter((line) => !line.includes(lab.sandbox.interface));
  const lines = shown.flatMap(own);
  return lines
    .map((line) => line.replace(/\\.*|expires .*/, "").trim())
    .sort()
    .join("\n");
}

/** Each rule with its family in front: `-4 10: from all fwmark …`. */
async function rulesIn(lab: Lab): Promise<string[]> {
  const shown = ["-4", "-6"].map(async (family) => {
    const { stdout } = await lab.exec(lab.namespaces.gateway, ["ip", family, "rule", "show"]);
    return stdout
      .split("\n")
      .filter((line) => line !== "" && !line.includes(OF_RELAYS))
      .map((line) => `${family} ${line}`);
  });
  // Rules of one priority stand in the order in which they came; none of ours depends on it.
  return (await Promise.all(shown)).flat().sort();
}
