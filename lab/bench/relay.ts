import { INTERNET } from "../../src/sandbox/topology.ts";
import { createLab, type Gateway, type Lab } from "../lab.ts";
import { relayServers } from "../relayed-servers.ts";
import { until } from "../until.ts";
import { type Measurement, measurementOf } from "./measure.ts";
import { residentMib } from "./memory.ts";
import { processorMsIn } from "./processor-time.ts";
import { rateOf, streamed, wayOut } from "./stream.ts";

/** Short, and many of them: what else runs on the machine then hits both alike. */
const STREAM_SECONDS = 0.7;
/** What a figure of processor time is told for. */
const BYTES = 100_000_000;
/** A former tunnel goes a second after a switch. */
const AFTERMATH_MS = 2_000;
const PAGE = `http://${INTERNET.host4}/ip`;
const WAYS = ["plain", "lwo", "shadowsocks", "udp2tcp"] as const;

type Way = (typeof WAYS)[number];

/** A relayed tunnel beside a plain one of the same gateway, in turns. */
export async function measureRelay(
  rounds: number,
  how: { program?: readonly string[] },
): Promise<Measurement[]> {
  const lab = await createLab({ cards: 2 });
  const servers = await relayServers(lab);
  try {
    const gateway = await lab.startGateway({ flags: ["--log-level", "warn"], ...how });
    return await measureStreams(lab, gateway, rounds);
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
  const none = (): Record<Way, number[]> => ({ plain: [], lwo: [], shadowsocks: [], udp2tcp: [] });
  const [rates, processor, memory] = [none(), none(), none()];
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
