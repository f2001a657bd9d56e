import { decode, encode, type Packet } from "dns-packet";
import { commandIn } from "../../../src/sandbox/namespace.ts";
import { INTERNET } from "../../../src/sandbox/topology.ts";
import type { Lab } from "../tools/lab.ts";

/** Inside the first VPN server's tunnel, beside its resolver. */
export const ODD_RESOLVER = "10.64.0.77";
/** What is odd; the first label of a question chooses it. */
export const ODDITIES = ["nothing", "silent", "refused", "case", "edns", "truncated"] as const;
type Oddity = (typeof ODDITIES)[number];

/** At the first VPN server: a resolver as people have them. */
export class OddResolver {
  private constructor(private readonly child: Bun.Subprocess) {}

  static async start(lab: Lab): Promise<OddResolver> {
    const { vpn1 } = lab.namespaces;
    const link = lab.sandbox.serverInterfaces.vpn1;
    const own = `iifname "${link}" ip daddr ${ODD_RESOLVER} udp dport 53 accept`;
    for (const argv of [
      ["nft", `insert rule inet sandbox incoming ${own}`],
      ["ip", "address", "add", `${ODD_RESOLVER}/32`, "dev", link],
    ]) {
      const { code, stderr } = await lab.exec(vpn1, argv);
      if (code !== 0) throw new Error(stderr);
    }
    const argv = commandIn(vpn1, [process.execPath, import.meta.path]);
    const child = Bun.spawn(argv, { stdin: "ignore", stdout: "pipe" });
    await child.stdout.getReader().read();
    return new OddResolver(child);
  }

  async stop(): Promise<void> {
    this.child.kill("SIGKILL");
    await this.child.exited;
  }
}

async function serve(): Promise<void> {
  await Bun.udpSocket({
    hostname: ODD_RESOLVER,
    port: 53,
    socket: {
      data: (socket, bytes, port, address) => {
        const answer = answerTo(decode(Buffer.from(bytes)));
        if (answer !== null) socket.send(answer, port, address);
      },
    },
  });
  console.log("ready");
}

function answerTo({ id = 0, questions: [question] = [], additionals = [] }: Packet): Buffer | null {
  const name = question?.name ?? "";
  const oddity = name.toLowerCase().split(".")[0] as Oddity;
  const asked = oddity === "case" ? name.toLowerCase() : name;
  const type = question?.type ?? "A";
  const isRefused = oddity === "refused" || (oddity === "edns" && additionals.length > 0);
  if (oddity === "silent") return null;
  return encode({
    ...{ type: "response", id, questions: [{ type, name: asked }] },
    // Recursion is desired and available; the answer was cut off; FORMERR or REFUSED.
    flags: 0x0180 | (oddity === "truncated" ? 0x0200 : 0) | (isRefused ? (oddity === "edns" ? 1 : 5) : 0),
    answers: isRefused || type !== "A" ? [] : [{ type: "A", name: asked, ttl: 300, data: INTERNET.host4 }],
  });
}

if (import.meta.main) await serve();
