import { expect, setDefaultTimeout } from "bun:test";
import { long, needsNamespaces } from "../fast.ts";
import { POLICIES } from "../killswitch/example.ts";
import { datagramFrame } from "../rig/tools/packet.ts";
import { until } from "../rig/tools/until.ts";
import { Bench, GATEWAY_MAC } from "./bench.ts";
import { Laboratory } from "./crafted.ts";
import { mutantsOf, mutantWith, OF_RULESET } from "./mutants.ts";
import { play } from "./played.ts";
import { ask, exampleFor, nameOf } from "./proof.ts";
import { shuffled } from "./sample.ts";
import { Original } from "./sorting.ts";
import { stateOf } from "./state.ts";

const TIMEOUT_MS = 600_000;
setDefaultTimeout(TIMEOUT_MS);
const OF_A_KIND = Number(process.env.PORTCULLIS_PROOF_OF_A_KIND ?? 5);
const SAMPLE_MS = 3_600_000;

const isMissing = Bun.which("z3") === null;

needsNamespaces.test.skipIf(isMissing)(
  "the packet that refutes a ruleset with a mistake leaves a machine with that ruleset, and none with the right one",
  async () => {
    const connected = stateOf("connected", POLICIES.connected);
    const { state } = mutantWith(
      connected,
      "a match less",
      'jump into_wg0 comment "only between the LAN and the tunnels", without oifname',
    );
    const only = ["(a) IPv4 lan0 > up0"];
    const { answers } = await ask(state, "the firewall alone", only);
    const [answer] = answers;
    const model = answer === undefined || answer.holds ? null : await exampleFor(answer);
    if (answer === undefined || model === null) throw new Error("the ruleset is not refuted");
    expect(nameOf(answer.question)).toBe("(a) IPv4 lan0 > up0");
    const packet = { iif: "lan0", oif: "up0", packet: answer.question.walk.packet, model };
    expect(await play(state, packet)).toHaveLength(1);
    expect(await play(connected, packet)).toEqual([]);
  },
);

needsNamespaces.test(
  "with one card, what answers nobody on the LAN does not leave again, not even as the reply to a direct device's packet",
  async () => {
    const [own, stranger] = ["192.168.7.255", "198.51.100.77"];
    const policy = { ...POLICIES["one-armed-all-direct"], resolver: { port: 10_053, askers: [] } };
    const state = stateOf("one card and a resolver", policy);
    const without = mutantWith(
      state,
      "a match less",
      'comment "replies to direct devices", without ip daddr 192.168.7.0/24',
    );
    const leaving = (ruleset: string) =>
      Bench.open(state, "eth0", async (bench) => {
        await bench.load(ruleset);
        const sniffer = await bench.sniff("eth0");
        const message = { toMac: GATEWAY_MAC, payload: "\u0001\0\0\0 as WireGuard sends it" };
        const began = { from: stranger, sourcePort: 53, to: own, targetPort: 51_820 };
        const reply = { from: own, sourcePort: 51_820, to: stranger, targetPort: 53 };
        await bench.comeIn("eth0", [
          datagramFrame({ ...message, ...began, fromMac: "020000000005" }),
          datagramFrame({ ...message, ...reply, fromMac: "020000000077" }),
        ]);
        return (await sniffer.stop()).leaks.filter((leak) => leak.startsWith(`${own} > ${stranger}`)).length;
      });
    // What was put on the cable is seen there, too.
    expect(await leaving(state.ruleset)).toBe(1);
    expect(await leaving(without.state.ruleset)).toBe(2);
  },
);

needsNamespaces.test(
  "what a program answers in another host's name does not leave by the uplink, even when routes lead there",
  async () => {
    const [device, far] = ["fd00:7::50", "2001:db8:77::77"];
    const state = stateOf("direct", POLICIES.direct);
    const without = mutantWith(state, "a rule less", 'output: oifname "lo" ct direction reply');
    const leaving = (ruleset: string) =>
      Bench.open(state, "up0", async (bench) => {
        await bench.load(ruleset);
        await bench.host.run(["ip", "link", "set", "lo", "up"]);
        const sniffer = await bench.sniff("up0");
        const ends = { from: device, sourcePort: 40_404, to: far, targetPort: 9 };
        await bench.comeIn("lan0", [
          datagramFrame({ toMac: GATEWAY_MAC, fromMac: "020000000005", payload: "begun", ...ends }),
        ]);
        await until(async () => (await sniffer.count()).leaks.length > 0);
        const [own = ""] = sniffer.take()[0]?.split(" ") ?? [];
        await bench.host.run([
          "ip",
          "route",
          "add",
          `${device}/128`,
          "via",
          "fd99::1",
          "dev",
          "up0",
          "onlink",
        ]);
        await bench.host.run([process.execPath, "-e", answerFrom(far, own, 40_404)]);
        return (await sniffer.stop()).leaks;
      });
    expect(await leaving(without.state.ruleset)).toEqual([`${far} > ${device} UDP 9 > 40404, 6 bytes`]);
    expect(await leaving(state.ruleset)).toEqual([]);
  },
);

needsNamespaces.test(
  "a connection that meets no NAT rule keeps its address, and gets another port if one of another zone has its own",
  async () => {
    const ruleset = `table inet zones {
      chain zones {
        type filter hook prerouting priority raw;
        ether saddr 02:00:00:00:00:05 ct original zone set 5
        ether saddr 02:00:00:00:00:06 ct original zone set 6
      }
      chain unused { type nat hook postrouting priority srcnat; }
    }`;
    const ends = { from: "192.168.7.50", sourcePort: 40_404, to: "203.0.113.77", targetPort: 9 };
    await Bench.open(stateOf("connected", POLICIES.connected), "up0", async (bench) => {
      await bench.load(ruleset);
      const sniffer = await bench.sniff("up0");
      const frames = ["020000000005", "020000000006"].map((fromMac) =>
        datagramFrame({ toMac: GATEWAY_MAC, fromMac, payload: "begun", ...ends }),
      );
      await bench.comeIn("lan0", frames);
      const seen = (await sniffer.stop()).leaks.map(
        (leak) => /^192\.168\.7\.50 > \S+ UDP (\d+) > 9/.exec(leak)?.[1],
      );
      expect(seen).toHaveLength(2);
      expect(seen[0]).toBe("40404");
      expect(seen[1]).not.toBe("40404");
    });
  },
);

/** By a socket whose address has gone; it is told if a rule drops what it sends. */
function answerFrom(far: string, own: string, port: number): string {
  const address = (...how: string[]) =>
    `Bun.spawnSync(${JSON.stringify(["ip", "address", ...how, `${far}/128`, "dev", "lo"])}, { stdout: "inherit", stderr: "inherit" });`;
  // The kernel's look for another owner takes a moment, even though nobody else can have it there.
  return `${address("add", "nodad")}
    const socket = await Bun.udpSocket({ hostname: "${far}", port: 9 });
    ${address("del")}
    try { socket.send("answer", ${port}, "${own}"); } catch {}
    socket.close();`;
}

long("each of many rulesets meets 400 packets").test.skipIf(isMissing)(
  "a mistake that lets a packet of any kind leave in the kernel is refuted by the proof",
  async () => {
    const right = stateOf("connected", POLICIES.connected);
    const original = new Original(right);
    const seed = Number(process.env.PORTCULLIS_PROOF_SEED ?? 1);
    const all = shuffled(mutantsOf(right), seed, ({ kind, of }) => `${kind} ${of}`);
    const mistakes = OF_RULESET.flatMap((kind) =>
      all.filter((each) => each.kind === kind).slice(0, OF_A_KIND),
    );
    const [leaking, missed] = [[] as string[], [] as string[]];
    await Laboratory.open(right, async (laboratory) => {
      for (const mistake of mistakes) {
        const [leak] = (await laboratory.leaksOf(mistake)) ?? [];
        if (leak === undefined) continue;
        const { sort } = await original.sort(mistake);
        const line = `${sort}: ${mistake.kind}: ${mistake.of}: ${leak}`;
        console.log(line);
        leaking.push(line);
        if (sort !== "refuted") missed.push(line);
      }
    });
    console.log(`${mistakes.length} mistakes, ${leaking.length} of them leak, ${missed.length} not refuted`);
    expect(missed).toEqual([]);
    expect(leaking.length).toBeGreaterThan(0);
  },
  SAMPLE_MS,
);
