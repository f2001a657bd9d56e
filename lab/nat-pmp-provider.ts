import { appendFileSync, readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { parseAddress } from "../src/base/address.ts";
import { SERVER_PORT } from "../src/port-mapping/nat-pmp.ts";
import { commandIn } from "../src/sandbox/namespace.ts";
import { TUNNEL, type VPN } from "../src/sandbox/topology.ts";
import { ProviderNatPmp } from "../tests/port-mapping/provider.ts";
import type { Lab } from "./lab.ts";

type Server = keyof typeof VPN;

/**
 * The public address that each server names, in place of its own: clients by libnatpmp refuse those that are reserved for
 * documentation. No packet is sent to them.
 */
export const NAMED_ADDRESS = { vpn1: "1.2.3.11", vpn2: "1.2.3.12" } as const;

/** NAT-PMP inside the tunnels of a VPN server, which sends what arrives at its ports to the customer who asked. */
export class NatPmpProvider {
  private constructor(
    private readonly notes: string,
    private readonly child: Bun.Subprocess,
  ) {}

  /** The first port that it gives is `first`. */
  static async start(lab: Lab, server: Server, first: number): Promise<NatPmpProvider> {
    const notes = join(lab.sandbox.directory, `nat-pmp-${server}`);
    writeFileSync(notes, "");
    const argv = [process.execPath, import.meta.path, server, String(first), notes];
    const child = Bun.spawn(commandIn(lab.namespaces[server], argv), { stdin: "ignore", stdout: "pipe" });
    await child.stdout.getReader().read();
    return new NatPmpProvider(notes, child);
  }

  /** Sender and bytes of every request so far. */
  get asked(): string[] {
    return readFileSync(this.notes, "utf8")
      .split("\n")
      .filter((line) => line !== "");
  }

  /** It loses its ports, and gives others. */
  restart(): void {
    this.child.kill("SIGUSR2");
  }

  async stop(): Promise<void> {
    this.child.kill("SIGKILL");
    await this.child.exited;
  }
}

/** What another one has left, who was killed. */
function forgetRules(): void {
  const tables = Bun.spawnSync(["nft", "list", "tables", "ip"]).stdout.toString();
  for (const [, name = ""] of tables.matchAll(/ (ports_\S+)/g))
    Bun.spawnSync(["nft", "delete", "table", "ip", name]);
}

async function serve(server: Server, first: number, notes: string): Promise<void> {
  forgetRules();
  let [next, restarts] = [first, 0];
  const customers = new Map<string, ProviderNatPmp>();
  const providerOf = (address: string) => {
    const known =
      customers.get(address) ??
      new ProviderNatPmp(() => Date.now() / 1000, parseAddress(NAMED_ADDRESS[server]));
    known.next = next;
    customers.set(address, known);
    return known;
  };
  process.on("SIGUSR2", () => {
    restarts += 1;
    next = first + 100 * restarts;
    for (const [address, provider] of customers) {
      provider.restart();
      Object.assign(provider, { next, isObliging: false });
      applyRules(address, provider);
    }
  });
  await Bun.udpSocket({
    hostname: TUNNEL.server4,
    port: SERVER_PORT,
    socket: {
      // A client that has its answer no longer listens for the one to its repetition.
      error: () => {},
      data: (socket, bytes, port, address) => {
        appendFileSync(notes, `${address} ${Buffer.from(bytes).toString("hex")}\n`);
        const provider = providerOf(address);
        const answer = provider.answer(bytes);
        next = Math.max(next, provider.next);
        applyRules(address, provider);
        if (answer !== null) socket.send(answer, port, address);
      },
    },
  });
  process.stdout.write("ready\n");
}

/** One table for each customer. */
function applyRules(address: string, { mappings }: ProviderNatPmp): void {
  const table = `ip ports_${address.replaceAll(".", "_")}`;
  const rules = mappings.map(
    ({ protocol, internal, external }) =>
      `iifname "wan0" ${protocol} dport ${external} dnat to ${address}:${internal}`,
  );
  const chain = `chain in { type nat hook prerouting priority dstnat - 1\n${rules.join("\n")}\n}`;
  const text = `add table ${table}\ndelete table ${table}\ntable ${table} {\n${chain}\n}\n`;
  const { success, stderr } = Bun.spawnSync(["nft", "-f", "-"], { stdin: Buffer.from(text) });
  if (!success) console.error(stderr.toString());
}

if (import.meta.main) {
  const [server = "vpn1", first = "", notes = ""] = process.argv.slice(2);
  await serve(server as Server, Number(first), notes);
}
