import { craftedBodies } from "../rig/leaks/crafted.ts";
import { packetFrame } from "../rig/tools/packet.ts";
import type { Sniffer } from "../rig/tools/sniffer.ts";
import { Bench, GATEWAY_MAC } from "./bench.ts";
import type { Mutant } from "./mutants.ts";
import type { State } from "./state.ts";

// Packets of every kind at a machine with a mistake in its ruleset: what leaves that did not leave before.

/** A device's address and a stranger's, and hosts outside, of each family. */
const ENDS = [
  { device: "192.168.7.50", stranger: "198.51.100.9", far: "203.0.113.77" },
  { device: "fd00:7::50", stranger: "2001:db8:66::9", far: "2001:db8:77::77" },
] as const;
const DEVICE_MAC = "020000000077";
const PORTS = [7, 53, 853, 51_820];

/** Of one state with two cards, with the lines of what leaves by the uplink or comes in with each mistake alone. */
export class Laboratory {
  private usual: ReadonlySet<string> = new Set();

  private constructor(
    private readonly bench: Bench,
    private readonly uplink: string,
    private readonly lan: string,
    private readonly sniffers: readonly Sniffer[],
  ) {}

  static open<T>(state: State, work: (laboratory: Laboratory) => Promise<T>): Promise<T> {
    const [{ interface: lan } = { interface: "" }] = state.policy.lans;
    const uplink = state.policy.uplink ?? "";
    return Bench.open(state, uplink, async (bench) => {
      await bench.know(
        lan,
        ENDS.map(({ device }) => device),
      );
      const sniffers = [await bench.sniff(uplink), await bench.sniff(lan)];
      const laboratory = new Laboratory(bench, uplink, lan, sniffers);
      laboratory.usual = new Set(await laboratory.seen(state.ruleset));
      try {
        return await work(laboratory);
      } finally {
        for (const sniffer of sniffers) await sniffer.stop();
      }
    });
  }

  /** Null if nft takes no such ruleset. */
  async leaksOf({ state }: Mutant): Promise<string[] | null> {
    const seen = await this.seen(state.ruleset).catch(() => null);
    return seen?.filter((line) => !this.usual.has(line)) ?? null;
  }

  private async seen(ruleset: string): Promise<string[]> {
    for (const sniffer of this.sniffers) sniffer.take();
    await this.bench.load(ruleset);
    await this.bench.comeIn(
      this.lan,
      ENDS.flatMap(({ device, stranger, far }) => [...framesOf(device, far), ...framesOf(stranger, far)]),
    );
    await this.bench.comeIn(
      this.uplink,
      ENDS.flatMap(({ device, far }) => framesOf(far, device)),
    );
    await this.bench.host.run([process.execPath, "-e", ownDatagrams()]);
    for (const sniffer of this.sniffers) await sniffer.count();
    const [outside = [], inside = []] = this.sniffers.map((sniffer) => sniffer.take());
    const isFromFar = (line: string) => ENDS.some(({ far }) => line.startsWith(`${far} >`));
    // What was put on the uplink's cable is seen there, too.
    return [...new Set([...outside.filter((line) => !isFromFar(line)), ...inside.filter(isFromFar)])];
  }
}

function framesOf(from: string, to: string): Uint8Array[] {
  const way = { from, to, fromMac: DEVICE_MAC, toMac: GATEWAY_MAC };
  return craftedBodies(from, to).map((body) => packetFrame(way, body));
}

/** What a program of the gateway's sends, bound to nothing. */
function ownDatagrams(): string {
  const sends = ENDS.flatMap(({ far }) =>
    PORTS.map(
      (port) => `try { ${far.includes(":") ? "six" : "four"}.send("own", ${port}, "${far}"); } catch {}`,
    ),
  );
  return `const four = await Bun.udpSocket({ hostname: "0.0.0.0", port: 40401 });
    const six = await Bun.udpSocket({ hostname: "::", port: 40402 });
    ${sends.join("\n")}
    four.close(); six.close();`;
}
