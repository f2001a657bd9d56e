import { INTERNET } from "../../src/sandbox/topology.ts";
import { createLab, type Gateway, type Lab } from "../lab.ts";
import { relayServers } from "../relayed-servers.ts";
import { until } from "../until.ts";
import { type Measurement, measurementOf, percentile } from "./measure.ts";
import { residentMib } from "./memory.ts";
import { processorMsIn } from "./processor-time.ts";
import { Table } from "./repair.ts";
import { rateOf, streamed, wayOut } from "./stream.ts";

/** Short, and many of them: what else runs on the machine then hits both alike. */
const STREAM_SECONDS = 0.7;
/** What a figure of processor time is told for. */
const BYTES = 100_000_000;
/** A stream is under way before the flush, and after the repair. */
const [BEFORE_MS, LOADED_SECONDS] = [3_000, 4];
/** The gateway repairs once a second, if it has to do so again and again. */
const PAUSE_MS = 1_500;
/** A former tunnel goes a second after a switch. */
const AFTERMATH_MS = 2_000;
const PAGE = `http://${INTERNET.host4}/ip`;
const WAYS = ["plain", "udp2tcp"] as const;

type Way = (typeof WAYS)[number];

/** A relayed tunnel beside a plain one of the same gateway, in turns, and what the repair of a flushed table waits for it. */
export async function measureRelay(
  rounds: number,
  repairs: number,
  how: { program?: readonly string[] },
): Promise<Measurement[]> {
  const lab = await createLab({ cards: 2 });
  const servers = await relayServers(lab);
  try {
    const gateway = await lab.startGateway({ flags: ["--log-level", "warn"], ...how });
    return [
      ...(await measureStreams(lab, gateway, rounds)),
      ...(await measureRepairs(lab, gateway, repairs)),
    ];
  } finally {
    for (const server of servers) server.kill("SIGKILL");
    await lab.close();
  }
}

/** Returns once the LAN has an answer, and the former tunnel is gone. */
async function connect(lab: Lab, gateway: Gateway, transport: Way): Promise<void> {
  const { status, body } = await gateway.api("POST", "/api/connect", { server: "box-vpn-1", transport });
  if (status !== 200) throw new Error(body.error);
  await Bun.sleep(AFTERMATH_MS);
  await until(async () => (await lab.fetchFrom(lab.namespaces.client, PAGE)) !== null);
}

async function measureStreams(lab: Lab, gateway: Gateway, rounds: number): Promise<Measurement[]> {
  const rates: Record<Way, number[]> = { plain: [], udp2tcp: [] };
  const processor: Record<Way, number[]> = { plain: [], udp2tcp: [] };
  const memory: Record<Way, number[]> = { plain: [], udp2tcp: [] };
  for (let round = 0; round < rounds; round += 1)
    for (const way of round % 2 === 0 ? WAYS : WAYS.toReversed()) {
      await connect(lab, gateway, way);
      const before = processorMsIn(lab.namespaces.gateway);
      const received = await streamed(wayOut(lab), STREAM_SECONDS);
      const used = processorMsIn(lab.namespaces.gateway) - before;
      rates[way].push(rateOf(received));
      processor[way].push((used * BYTES) / received.bytes);
      memory[way].push(residentMib({ gateway }));
    }
  const line = (what: string, unit: string, of: Record<Way, number[]>) =>
    WAYS.map((way) => measurementOf({ name: `${what}, ${way}`, unit, portcullis: of[way] }));
  return [
    ...line("throughput, LAN to internet", "Mbit/s", rates),
    ...line("processor time of the gateway's programs for 100 MB", "ms", processor),
    ...line("resident memory of the service", "MiB", memory),
  ];
}

async function measureRepairs(lab: Lab, gateway: Gateway, rounds: number): Promise<Measurement[]> {
  const times: Record<Way, number[]> = { plain: [], udp2tcp: [] };
  const table = Table.watch(lab);
  try {
    for (let round = 0; round < rounds; round += 1)
      for (const way of WAYS) {
        await connect(lab, gateway, way);
        const stream = streamed(wayOut(lab), LOADED_SECONDS);
        await Bun.sleep(BEFORE_MS);
        const before = table.absences.length;
        await lab.exec(lab.namespaces.gateway, ["nft", "flush", "ruleset"]);
        await until(() => table.absences.length > before);
        times[way].push(table.absences[before] ?? Number.NaN);
        await stream;
        await Bun.sleep(PAUSE_MS);
      }
  } finally {
    table.stop();
  }
  return WAYS.flatMap((way) =>
    [50, 90, 100].map((part) =>
      measurementOf({
        name: `flush to the table's return under full load, ${way}, ${part}th percentile`,
        ...{ unit: "ms", portcullis: [percentile(times[way], part)] },
      }),
    ),
  );
}
