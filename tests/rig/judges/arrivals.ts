import type { Lab } from "../tools/lab.ts";
import { MARKED_PORTS, type Mark, type MarkKind, markAt, markOf } from "../tools/marker.ts";

/** How many packets of one mark arrived, and from which address. */
export interface Arrival extends Mark {
  from: string;
  packets: number;
}

/**
 * In nft's language: which packets are of a kind, and the bits of them that are the mark. They are never copied into
 * `meta mark`: nft changes the order of their bytes there from some version between 1.0.6 and 1.1.3 on.
 */
const KINDS: Readonly<Record<MarkKind, readonly [match: string, mark: string]>> = {
  udp4: [`udp dport ${MARKED_PORTS}`, "udp dport"],
  udp6: [`udp dport ${MARKED_PORTS}`, "udp dport"],
  tcp4: [`tcp dport ${MARKED_PORTS}`, "tcp dport"],
  tcp6: [`tcp dport ${MARKED_PORTS}`, "tcp dport"],
  // The first label of the question's name, behind the headers of UDP and DNS and its length (RFC 1035, section 4.1).
  dns4: ["udp dport 53", "@th,168,32"],
  dns6: ["udp dport 53", "@th,168,32"],
  ping4: ["icmp type echo-request", "@th,64,32"],
  ping6: ["icmpv6 type echo-request", "@th,64,32"],
};

/**
 * Counts a marker's packets that arrive at one interface, in the kernel: nothing is missed, and it costs no program.
 * A tunnel's server drops what does not come from the tunnel's own address before it is counted.
 */
export class Arrivals {
  /** What was counted of marks that the kernel no longer has. */
  private readonly former = new Map<string, Arrival>();

  private constructor(
    private readonly lab: Lab,
    private readonly namespace: string,
  ) {}

  static async start(lab: Lab, namespace: string, link: string): Promise<Arrivals> {
    const { stderr } = await lab.exec(namespace, ["nft", "-f", "-"], rules(link));
    if (stderr !== "") throw new Error(stderr);
    return new Arrivals(lab, namespace);
  }

  /** What has arrived until now. */
  async count(): Promise<Arrival[]> {
    const listed = await this.listed();
    return [...this.former.values(), ...listed.map(({ arrival }) => arrival)];
  }

  /** Makes the kernel forget the marks of epochs that are long over: each count would list them again. */
  async forget(isOver: (mark: Mark) => boolean): Promise<void> {
    const over = (await this.listed()).filter(({ arrival }) => isOver(arrival));
    if (over.length === 0) return;
    const text = over.map(
      ({ arrival, key }) => `delete element inet arrivals ${arrival.kind} { ${arrival.from} . ${key} }\n`,
    );
    const { stderr } = await this.lab.exec(this.namespace, ["nft", "-f", "-"], text.join(""));
    if (stderr !== "") throw new Error(stderr);
    for (const { arrival } of over) {
      const { kind, from, device, epoch, packets } = arrival;
      const name = [kind, from, device, epoch].join();
      const known = this.former.get(name);
      this.former.set(name, { ...arrival, packets: packets + (known?.packets ?? 0) });
    }
  }

  private async listed(): Promise<Listed[]> {
    const list = ["nft", "-j", "list", "table", "inet", "arrivals"];
    const { stdout } = await this.lab.exec(this.namespace, list);
    const { nftables } = JSON.parse(stdout) as { nftables: { set?: { name: MarkKind; elem?: Element[] } }[] };
    return nftables.flatMap(({ set }) => (set?.elem ?? []).flatMap(({ elem }) => arrivalOf(set?.name, elem)));
  }
}

/** A row of the kernel's, with what the mark is there. */
interface Listed {
  arrival: Arrival;
  key: number;
}

interface Element {
  elem: { val: { concat: [from: string, mark: number] }; counter: { packets: number } };
}

function arrivalOf(kind: MarkKind | undefined, { val, counter }: Element["elem"]): Listed[] {
  const [from, key] = val.concat;
  const mark = key < 0x10000 ? markAt(key) : markOf(textOf(key).toLowerCase());
  if (kind === undefined || mark === null) return [];
  return [{ arrival: { ...mark, kind, from, packets: counter.packets }, key }];
}

/** Four characters, of which the gateway's resolver may have changed the case, that were read as one number. */
function textOf(number: number): string {
  const bytes = Buffer.alloc(4);
  bytes.writeUInt32BE(number);
  return bytes.toString("latin1");
}

function rules(link: string): string {
  const kinds = Object.entries(KINDS).map(([name, [match, mark]]) => {
    const [family, source] = name.endsWith("4") ? ["ipv4", "ip saddr"] : ["ipv6", "ip6 saddr"];
    return {
      set: `set ${name} { typeof ${source} . ${mark}; size 65535; flags dynamic; counter; }`,
      rule: `meta nfproto ${family} ${match} update @${name} { ${source} . ${mark} }`,
    };
  });
  return `table inet arrivals {
  ${kinds.map(({ set }) => set).join("\n  ")}
  chain arriving {
    type filter hook prerouting priority raw; policy accept;
    iifname != "${link}" accept
    ${kinds.map(({ rule }) => rule).join("\n    ")}
  }
}
`;
}
