import { readdirSync, readFileSync } from "node:fs";
import { INTERNET, LAN, RESOLVERS } from "../../../src/sandbox/topology.ts";
import { Dnsmasq } from "../peers/dnsmasq.ts";
import type { Lab } from "../tools/lab.ts";
import type { Answered, FirstUse } from "./asker.ts";
import type { Computer } from "./computer.ts";
import type { Contest } from "./contest.ts";
import { atMost, type Measurement, measurementOf, median, percentile } from "./measure.ts";
import type { Portcullis } from "./portcullis.ts";
import type { WgQuick } from "./wgquick.ts";

export interface NamesEffort {
  /** Questions at each rate. */
  questions: number;
  /** Names that are used for the first time, ruled and not. */
  firstUses: number;
}

/** Both gateways lead what is below this name to an exit, and nothing else. */
const RULED = "ruled.internet.test";
const FREE = "free.internet.test";
/** The last numbers of the addresses of devices beside the client: a gateway serves 1,000 questions a second to the first. */
const FURTHER = [101, 102, 103, 104];
const CLIENTS = [LAN.client4, ...FURTHER.map(addressOf)];
/** What a household asks in a second when many pages open; what many devices ask at once; nearly all that is served. */
const RATES = [50, 1_000, 3_600];
const FORWARDED_RATES = [50, 200];
const KNOWN_NAMES = 50;
const WEB_PORT = 80;
const SECONDS_MAX = 10;
/** The interface allows five orders a second to a client. */
const PAUSE_MS = 600;
const SETTLED_MS = 3_000;
const WARM_SECONDS = 5;
const IDLE_MS = 3_000;
const [US_PER_MS, NS_PER_MS] = [1_000, 1e6];

/** A gateway that answers the LAN's questions and leads names to an exit. */
interface Resolving {
  computer: Computer;
  /** Of the resolver. */
  pid: () => number;
  /** No address is led to the exit any more. */
  forget: () => Promise<void>;
}

type Of<T> = Record<"portcullis" | "dnsmasq", T>;

/** The gateway's own resolver with a rule for a name, against dnsmasq with `nftset` for the same name. */
export async function measureNames(contest: Contest, effort: NamesEffort): Promise<Measurement[]> {
  const { portcullis, wgQuick } = contest;
  const server = await dnsmasqFor(wgQuick);
  try {
    for (const { lab } of [portcullis, wgQuick]) await addClients(lab);
    await Promise.all([portcullis.connect(0), wgQuick.connect(0)]);
    const sides = { portcullis: await ruled(portcullis), dnsmasq: ruledBy(server, wgQuick) };
    await Bun.sleep(SETTLED_MS);
    // As those of gateways that have run for a while: by then a runtime has compiled what is used often.
    const warmUp = { ...queriesOf(2_000, WARM_SECONDS, "warm"), names: KNOWN_NAMES };
    for (const { computer } of Object.values(sides)) await computer.askNames(warmUp);
    const measurements: Measurement[] = [];
    for (const perSecond of RATES)
      measurements.push(...(await measureRate(sides, perSecond, "cache", effort)));
    for (const perSecond of FORWARDED_RATES)
      measurements.push(...(await measureRate(sides, perSecond, "tunnel's resolver", effort)));
    measurements.push(...(await measureFirstUses(sides, effort.firstUses)));
    await Promise.all([portcullis.disconnect(), wgQuick.disconnect()]);
    return measurements;
  } finally {
    await server.stop("SIGKILL");
  }
}

/** Devices with MAC addresses of their own, in the client's namespace: what each asks goes through its own link. */
export async function addClients(lab: Lab): Promise<void> {
  const lines = FURTHER.flatMap((last) => [
    `link add link lan0 name more${last} address 02:00:00:00:20:${last - 100}0 type macvlan mode private`,
    `link set more${last} up`,
    `address add ${addressOf(last)}/32 dev more${last}`,
    `route add ${addressOf(0)}/24 dev more${last} table ${last}`,
    `rule add from ${addressOf(last)} lookup ${last}`,
  ]);
  const { client } = lab.namespaces;
  await lab.exec(client, [
    "sysctl",
    "-qw",
    "net.ipv4.conf.all.arp_ignore=1",
    "net.ipv4.conf.all.rp_filter=0",
  ]);
  await lab.exec(client, ["ip", "-batch", "-"], `${lines.join("\n")}\n`);
}

function addressOf(last: number): string {
  return LAN.client4.replace(/\d+$/, `${last}`);
}

export function queriesOf(perSecond: number, seconds: number, prefix: string) {
  const count = Math.ceil(perSecond * seconds);
  return { server: LAN.gateway4, from: CLIENTS, below: RULED, prefix, perSecond, count };
}

async function dnsmasqFor(side: WgQuick): Promise<Dnsmasq> {
  const { lab } = side;
  await side.forward("plain");
  const set = "add set inet home ruled { type ipv4_addr; }\n";
  const { code, stderr } = await lab.exec(lab.namespaces.gateway, ["nft", "-f", "-"], set);
  if (code !== 0) throw new Error(stderr);
  const server = new Dnsmasq(lab, lab.namespaces.gateway, CONFIG);
  server.start();
  return server;
}

/** The lab's resolver gives names no time; the gateway makes a minute of that. */
const CONFIG = `no-resolv
no-hosts
bind-interfaces
listen-address=${LAN.gateway4}
server=${RESOLVERS.vpn1.v4}
cache-size=10000
min-cache-ttl=60
dns-forward-max=1024
nftset=/${RULED}/4#inet#home#ruled
`;

async function ruled(side: Portcullis): Promise<Resolving> {
  const body = { names: [RULED], exit: "main" };
  const { status, text } = await side.computer.call("POST", side.url("/api/destinations"), body);
  if (status !== 200) throw new Error(text);
  const rule = `/api/destinations/${JSON.parse(text).id}`;
  return {
    computer: side.computer,
    pid: () => side.gateway.pid,
    forget: async () => {
      // It never is without a rule: there would be no resolver for a moment.
      for (const names of [[`former.${RULED}`], [RULED]]) await side.call("PATCH", rule, { names });
    },
  };
}

function ruledBy(server: Dnsmasq, { computer, lab }: WgQuick): Resolving {
  return {
    computer,
    pid: () => server.pid,
    forget: async () => {
      await lab.exec(lab.namespaces.gateway, ["nft", "flush", "set", "inet", "home", "ruled"]);
    },
  };
}

interface Rate {
  answered: Answered;
  /** Processor time of the resolver's process beyond what it takes without questions. */
  microseconds: number;
}

async function measureRate(
  sides: Of<Resolving>,
  perSecond: number,
  from: "cache" | "tunnel's resolver",
  { questions }: NamesEffort,
): Promise<Measurement[]> {
  const isKnown = from === "cache";
  const count = Math.min(questions, perSecond * SECONDS_MAX);
  const asked = async (side: Resolving): Promise<Rate> => {
    const prefix = isKnown ? "known" : `new${perSecond}-`;
    const queries = {
      ...queriesOf(perSecond, count / perSecond, prefix),
      names: isKnown ? KNOWN_NAMES : count,
    };
    if (isKnown) await side.computer.askNames({ ...queries, perSecond: 100, count: KNOWN_NAMES });
    const idle = await processorTime(side, () => Bun.sleep(IDLE_MS));
    let answered: Answered = { times: [], failed: 0 };
    const busy = await processorTime(side, async () => {
      answered = await side.computer.askNames(queries);
    });
    const beyond = busy.usedMs - (idle.usedMs / idle.ms) * busy.ms;
    return { answered, microseconds: (beyond * US_PER_MS) / count };
  };
  const found = { portcullis: await asked(sides.portcullis), dnsmasq: await asked(sides.dnsmasq) };
  const line = (what: string, unit: string, of: (rate: Rate) => number, limit: number | null = null) =>
    measurementOf({
      name: `name from the ${from}, ${perSecond} a second, ${what} (against dnsmasq)`,
      ...{ unit, portcullis: [of(found.portcullis)], wgQuick: [of(found.dnsmasq)] },
      ...(limit === null ? {} : { aim: atMost(limit) }),
    });
  const at = (part: number) => (rate: Rate) => percentile(rate.answered.times, part);
  return [
    line("50th percentile", "ms", at(50), isKnown && perSecond === 1_000 ? 0.3 : null),
    line("99th percentile", "ms", at(99)),
    line(
      "answered",
      "%",
      ({ answered: { times, failed } }) => (100 * times.length) / (times.length + failed),
    ),
    line("processor time of a question", "µs", ({ microseconds }) => microseconds),
  ];
}

/** A name of a rule and one of none, each asked for the first time, with a connection to its address. */
async function measureFirstUses(sides: Of<Resolving>, rounds: number): Promise<Measurement[]> {
  const uses = { portcullis: usesOf(), dnsmasq: usesOf() };
  for (let round = 0; round < rounds; round += 1) {
    const order =
      round % 2 === 0 ? (["portcullis", "dnsmasq"] as const) : (["dnsmasq", "portcullis"] as const);
    for (const name of order) {
      const side = sides[name];
      await side.forget();
      await Bun.sleep(PAUSE_MS);
      for (const below of [FREE, RULED])
        uses[name][below === RULED ? "ruled" : "free"].push(await useOf(side, `first${round}.${below}`));
    }
  }
  const line = (what: string, of: (uses: Uses) => number[], limit: number | null = null) =>
    measurementOf({
      name: `${what} (against dnsmasq with nftset)`,
      ...{ unit: "ms", portcullis: of(uses.portcullis), wgQuick: of(uses.dnsmasq) },
      ...(limit === null ? {} : { aim: atMost(limit) }),
    });
  const answers = (some: readonly FirstUse[]) => some.map(({ answerMs }) => answerMs);
  const connections = (some: readonly FirstUse[]) => some.map(({ connectedMs }) => connectedMs);
  return [
    line("first answer for a name without a rule", ({ free }) => answers(free)),
    line("first answer for a name with a rule", ({ ruled }) => answers(ruled)),
    line(
      "first answer for a name with a rule, beyond one without",
      ({ free, ruled }) => [median(answers(ruled)) - median(answers(free))],
      8,
    ),
    line("first connection by a name without a rule", ({ free }) => connections(free)),
    line("first connection by a name with a rule", ({ ruled }) => connections(ruled)),
  ];
}

interface Uses {
  free: FirstUse[];
  ruled: FirstUse[];
}

const usesOf = (): Uses => ({ free: [], ruled: [] });

async function useOf({ computer }: Resolving, name: string): Promise<FirstUse> {
  // The neighbour is known, as it is to every device that has been on for a second.
  await computer.askNames({ ...queriesOf(100, 0.01, "known"), below: FREE, names: 1 });
  const use = await computer.useName(LAN.gateway4, LAN.client4, name, WEB_PORT);
  if (use.address !== INTERNET.host4) throw new Error(`${name} has the address ${use.address}`);
  return use;
}

/** All threads of the process, in milliseconds. */
async function processorTime({ pid }: Resolving, work: () => Promise<unknown>) {
  const used = () => {
    const tasks = `/proc/${pid()}/task`;
    const times = readdirSync(tasks).map((task) =>
      Number(readFileSync(`${tasks}/${task}/schedstat`, "utf8").split(" ")[0]),
    );
    return times.reduce((sum, each) => sum + each, 0) / NS_PER_MS;
  };
  const [before, beganAt] = [used(), performance.now()];
  await work();
  return { usedMs: used() - before, ms: performance.now() - beganAt };
}
