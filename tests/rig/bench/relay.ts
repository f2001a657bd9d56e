import { INTERNET, VPN_PORT } from "../../../src/sandbox/topology.ts";
import { AMNEZIA_LINES, AMNEZIA_PORT, startAmnezia } from "../peers/amnezia.ts";
import { relayServers } from "../peers/relayed-servers.ts";
import { createLab, type Gateway, type Lab } from "../tools/lab.ts";
import { until } from "../tools/until.ts";
import { type Measurement, measurementOf, percentile } from "./measure.ts";
import { residentMib } from "./memory.ts";
import { processorMs, processorMsIn } from "./processor-time.ts";
import { progress } from "./progress.ts";
import { flushed, PAUSE_MS, Table } from "./repair.ts";
import { rateOf, Stream, streamed, wayOut } from "./stream.ts";

/** Short, and many of them: what else runs on the machine then hits both alike. */
const STREAM_SECONDS = 0.7;
/** What a figure of processor time is told for. */
const BYTES = 100_000_000;
/** A former tunnel goes a second after a switch. */
const AFTERMATH_MS = 2_000;
const PAGE = `http://${INTERNET.host4}/ip`;
const WAYS = ["plain", "lwo", "shadowsocks", "udp2tcp", "amnezia"] as const;
/** How often each way has its turn while tables are flushed. */
const TURNS = 2;
/** The server's name in a file that says that it speaks AmneziaWG. */
const HIDDEN = "hidden";

type Way = (typeof WAYS)[number];
type OfEach = Record<Way, number[]>;

export interface RelayEffort {
  /** Streams by each way. */
  relays: number;
  /** Of a flushed table, while a stream goes each way. */
  repairs: number;
}

/** A relayed tunnel beside a plain one of the same gateway, in turns, and what a flushed table waits for each. */
export async function measureRelay(
  { relays, repairs }: RelayEffort,
  how: { program?: readonly string[] },
): Promise<Measurement[]> {
  const lab = await createLab({ cards: 2 });
  const servers = await relayServers(lab);
  try {
    servers.push(await hiddenServer(lab));
    const gateway = await lab.startGateway({ flags: ["--log-level", "warn"], ...how });
    await importHidden(lab, gateway);
    return [
      ...(await measureStreams(lab, gateway, relays)),
      ...(await measureRepairs(lab, gateway, repairs)),
    ];
  } finally {
    for (const server of servers) server.kill("SIGKILL");
    await lab.close();
  }
}

function hiddenServer({ namespaces, sandbox }: Lab): Promise<Bun.Subprocess> {
  const [{ publicKey, imported }] = sandbox.servers;
  return startAmnezia(namespaces.vpn1, VPN_PORT, { serverKey: publicKey, clientKey: imported.publicKey });
}

async function importHidden({ sandbox }: Lab, gateway: Gateway): Promise<void> {
  const config = sandbox.servers[0].importText
    .replace("[Interface]\n", `[Interface]\n${AMNEZIA_LINES}\n`)
    .replace(`:${VPN_PORT}\n`, `:${AMNEZIA_PORT}\n`);
  const { status, body } = await gateway.api("POST", "/api/import", { name: HIDDEN, config });
  if (status !== 200) throw new Error(body.error);
}

/** Returns once the LAN has an answer, and the former tunnel is gone. */
async function connect(lab: Lab, gateway: Gateway, way: Way): Promise<void> {
  const target =
    way === "amnezia"
      ? { provider: "imported", server: HIDDEN }
      : { provider: "managed", server: "box-vpn-1", transport: way };
  const { status, body } = await gateway.api("PUT", "/api/tunnels/main", target);
  if (status !== 200) throw new Error(body.error);
  await Bun.sleep(AFTERMATH_MS);
  await until(async () => (await lab.fetchFrom(lab.namespaces.client, PAGE)) !== null);
}

async function measureStreams(lab: Lab, gateway: Gateway, rounds: number): Promise<Measurement[]> {
  const [rates, all, service, memory] = [none(), none(), none(), none()];
  for (let round = 0; round < rounds; round += 1) {
    progress(`relay, streams, round ${round + 1} of ${rounds}`);
    for (const way of inTurn(round)) {
      await connect(lab, gateway, way);
      const used = () => [processorMsIn(lab.namespaces.gateway), processorMs(gateway.pid)] as const;
      const before = used();
      const received = await streamed(wayOut(lab), STREAM_SECONDS);
      const after = used();
      rates[way].push(rateOf(received));
      all[way].push(((after[0] - before[0]) * BYTES) / received.bytes);
      service[way].push(((after[1] - before[1]) * BYTES) / received.bytes);
      memory[way].push(residentMib({ gateway }));
    }
  }
  return [
    ...lines("throughput, LAN to internet", "Mbit/s", rates),
    ...lines("processor time of the gateway's programs for 100 MB", "ms", all),
    ...lines("processor time of the service for 100 MB", "ms", service),
    ...lines("resident memory of the service", "MiB", memory),
  ];
}

/** How long the kernel has no table after a flush, while a stream takes all that a tunnel carries. */
async function measureRepairs(lab: Lab, gateway: Gateway, rounds: number): Promise<Measurement[]> {
  const [times, rates] = [none(), none()];
  const table = Table.watch(lab);
  try {
    for (let turn = 0; turn < TURNS; turn += 1)
      for (const way of inTurn(turn)) {
        progress(`relay, repairs, turn ${turn + 1} of ${TURNS}, ${way}`);
        await connect(lab, gateway, way);
        const stream = await Stream.begin(wayOut(lab));
        for (let round = 0; round < Math.ceil(rounds / TURNS); round += 1) {
          await Bun.sleep(PAUSE_MS);
          times[way].push(await flushed(lab, gateway, table));
        }
        rates[way].push(rateOf(await stream.end()));
      }
  } finally {
    table.stop();
  }
  return [
    ...[50, 90, 100].flatMap((part) =>
      WAYS.map((way) =>
        measurementOf({
          name: `flush to the table's return under full load, ${way}, ${part}th percentile`,
          // Beside it: by plain WireGuard.
          ...{ unit: "ms", portcullis: [percentile(times[way], part)] },
          ...(way === "plain" ? {} : { wgQuick: [percentile(times.plain, part)] }),
        }),
      ),
    ),
    ...lines("throughput while tables are flushed", "Mbit/s", rates),
  ];
}

const none = (): OfEach => ({ plain: [], lwo: [], shadowsocks: [], udp2tcp: [], amnezia: [] });

/** Who begins takes turns, too. */
function inTurn(round: number): readonly Way[] {
  return round % 2 === 0 ? WAYS : WAYS.toReversed();
}

function lines(what: string, unit: string, of: OfEach): Measurement[] {
  return WAYS.map((way) => measurementOf({ name: `${what}, ${way}`, unit, portcullis: of[way] }));
}
