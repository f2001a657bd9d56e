import { decode, encode, type Packet } from "dns-packet";
import { commandIn } from "../../../src/sandbox/namespace.ts";
import { INTERNET, TUNNEL } from "../../../src/sandbox/topology.ts";
import type { Lab } from "../tools/lab.ts";

/** Where forged answers lead. Nobody is there. */
export const FORGED = "203.0.113.66";
/** Inside the tunnel, and not the resolver's. */
const OTHER_SOURCE = "10.64.0.77";
const OTHER_PORT = 5_353;
/** The true answer comes so much later than the forged one. */
const LATER_MS = 100;
/** The first label of a question that a neighbour races for. */
export const RACED = "raced";
/** The gateway waits for 4 s, and the neighbour is a program that has to start. */
const RACED_MS = 3_300;

/**
 * From where the answer comes that is first. The first label of the question chooses it. `nothing` is the positive control:
 * that answer comes from the resolver itself, and is believed.
 */
export const FORGERIES = ["source", "port"] as const;
type Forgery = (typeof FORGERIES)[number] | "nothing";

/** A question as it came in, and the answer that a neighbour forges who knows all of it. */
export interface Overheard {
  /** Of the gateway, in the tunnel. */
  address: string;
  port: number;
  /** In hexadecimal. */
  forged: string;
}

/** In the place of the first VPN server's resolver: one that forges answers. */
export class Forger {
  private constructor(
    private readonly child: Bun.Subprocess,
    private readonly lines: { read(): Promise<{ value?: Uint8Array | undefined }> },
  ) {}

  static async start(lab: Lab): Promise<Forger> {
    const { vpn1 } = lab.namespaces;
    const link = lab.sandbox.serverInterfaces.vpn1;
    const own = `iifname "${link}" ip daddr ${TUNNEL.server4} udp dport 53 accept`;
    for (const argv of [
      ["nft", `insert rule inet sandbox incoming ${own}`],
      ["ip", "address", "add", `${OTHER_SOURCE}/32`, "dev", link],
    ]) {
      const { code, stderr } = await lab.exec(vpn1, argv);
      if (code !== 0) throw new Error(stderr);
    }
    const child = Bun.spawn(commandIn(vpn1, [process.execPath, import.meta.path]), {
      stdin: "ignore",
      stdout: "pipe",
    });
    const lines = child.stdout.getReader();
    await lines.read();
    return new Forger(child, lines);
  }

  /** The next question that is raced for; each comes once, and is repeated as it was. */
  async overheard(): Promise<Overheard> {
    const { value } = await this.lines.read();
    const [line = ""] = new TextDecoder().decode(value).split("\n");
    return JSON.parse(line);
  }

  async stop(): Promise<void> {
    this.child.kill("SIGKILL");
    await this.child.exited;
  }
}

async function serve(): Promise<void> {
  const open = (hostname: string, port: number) => Bun.udpSocket({ hostname, port });
  const raced = new Set<string>();
  const [otherSource, otherPort] = [await open(OTHER_SOURCE, 53), await open(TUNNEL.server4, OTHER_PORT)];
  await Bun.udpSocket({
    hostname: TUNNEL.server4,
    port: 53,
    socket: {
      data: (socket, bytes, port, address) => {
        const query = decode(Buffer.from(bytes));
        const [label = ""] = (query.questions?.[0]?.name ?? "").toLowerCase().split(".");
        if (label === RACED) {
          const forged = answerTo(query, FORGED).toHex();
          // The gateway repeats its question.
          if (!raced.has(forged)) console.log(JSON.stringify({ address, port, forged } satisfies Overheard));
          raced.add(forged);
          return void setTimeout(() => socket.send(answerTo(query, INTERNET.host4), port, address), RACED_MS);
        }
        const forgery = label as Forgery;
        const from = forgery === "source" ? otherSource : forgery === "port" ? otherPort : socket;
        from.send(answerTo(query, FORGED), port, address);
        setTimeout(() => socket.send(answerTo(query, INTERNET.host4), port, address), LATER_MS);
      },
      // Whoever has asked has closed its port: what measures a tunnel does so at once.
      error: () => {},
    },
  });
  console.log("ready");
}

function answerTo({ id = 0, questions = [] }: Packet, address: string): Buffer {
  const [question] = questions;
  const answers = [{ type: "A" as const, name: question?.name ?? "", ttl: 300, data: address }];
  const isAddress = question?.type === "A";
  // Flags: recursion is desired and available.
  return encode({ type: "response", id, flags: 0x0180, questions, answers: isAddress ? answers : [] });
}

if (import.meta.main) await serve();
