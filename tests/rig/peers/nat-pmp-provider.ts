import { appendFileSync, readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { parseAddress } from "../../../src/base/address.ts";
import { SERVER_PORT } from "../../../src/port-mapping/nat-pmp.ts";
import { commandIn } from "../../../src/sandbox/namespace.ts";
import { ROUTER, TUNNEL, type VPN } from "../../../src/sandbox/topology.ts";
import { ProviderNatPmp } from "../../port-mapping/provider.ts";
import type { Lab } from "../tools/lab.ts";

type Server = keyof typeof VPN;

/**
 * The public address that each server names, in place of its own: clients by libnatpmp refuse those that are reserved for
 * documentation. No packet is sent to them.
 */
export const NAMED_ADDRESS = { vpn1: "1.2.3.11", vpn2: "1.2.3.12" } as const;

interface Place {
  /** Where it is asked. */
  own: string;
  /** What it says that its address on the internet is. */
  address: string;
  /** The first port that it gives. */
  first: number;
  /** What it answers to all requests for ports: 0 if it grants them. */
  result: number;
  /** Whether it gives the port that a client asks for. */
  isObliging: boolean;
  notes: string;
}

/** NAT-PMP inside the tunnels of a VPN server, or of a home router: what arrives at its ports goes to who has asked. */
export class NatPmpProvider {
  private constructor(
    private readonly notes: string,
    private readonly child: Bun.Subprocess,
  ) {}

  /** The first port that it gives is `first`. */
  static start(
    lab: Lab,
    server: Server,
    first: number,
    address: string = NAMED_ADDRESS[server],
  ): Promise<NatPmpProvider> {
    const place = { own: TUNNEL.server4, address, first, result: 0, isObliging: true };
    return NatPmpProvider.at(lab, server, place);
  }

  /** The home router, which gives ports of its own choice. */
  static atHome(lab: Lab, given: Pick<Place, "address" | "first" | "result">): Promise<NatPmpProvider> {
    return NatPmpProvider.at(lab, "router", { ...given, own: ROUTER.lan[2].v4, isObliging: false });
  }

  private static async at(
    lab: Lab,
    role: Server | "router",
    place: Omit<Place, "notes">,
  ): Promise<NatPmpProvider> {
    const notes = join(lab.sandbox.directory, `nat-pmp-${role}`);
    writeFileSync(notes, "");
    const argv = [process.execPath, import.meta.path, JSON.stringify({ ...place, notes })];
    const child = Bun.spawn(commandIn(lab.namespaces[role], argv), { stdin: "ignore", stdout: "pipe" });
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

async function serve({ own, address: shown, first, result, isObliging, notes }: Place): Promise<void> {
  forgetRules();
  let [next, restarts] = [first, 0];
  const customers = new Map<string, ProviderNatPmp>();
  const providerOf = (address: string) => {
    const known =
      customers.get(address) ??
      Object.assign(new ProviderNatPmp(() => Date.now() / 1000, parseAddress(shown)), { result, isObliging });
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
    hostname: own,
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
  await serve(JSON.parse(process.argv[2] ?? ""));
}
