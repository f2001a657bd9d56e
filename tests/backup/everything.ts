import type { Contents } from "../../src/backup/contents.ts";
import { opened } from "../../src/backup/envelope.ts";
import { PRIVATE, PUBLIC } from "../servers/example.ts";

const TV = "02:00:00:00:00:20";

/** What the golden backup does not have yet. */
const MORE: Record<string, string> = {
  failover: "on",
  autoconnect: "off",
  quality: "on, every 20 s, slow from 200 ms, lossy from 5 %",
  line: "100 Mbit/s down, 20 up",
  time_zone: "Pacific/Auckland",
  language: "de",
  quantum: '{"main":"on"}',
  last_targets: '{"amsterdam":{"targets":[{"provider":"managed","server":"se-1"}]}}',
  destinations: JSON.stringify([
    { id: "3f9a1c", names: ["a.example"], prefixes: [], devices: [], exit: "blocked", note: "" },
  ]),
  networks: JSON.stringify([
    { interface: "eth0.20", name: "Guests", exit: "blocked", page: false },
    { interface: "lan0", others: true },
  ]),
  dns_lists: JSON.stringify({ lists: [{ url: "https://a.example/" }], exceptions: ["b.example"] }),
  limits: JSON.stringify([
    { id: TV, rate: { down: 5, up: null } },
    { id: "others", rate: { down: 9, up: 9 } },
  ]),
  quotas: JSON.stringify([{ id: TV, quota: { megabytes: 100, every: "day" } }]),
  remote: JSON.stringify({
    ...{ on: false, port: 51_820, endpoint: null, through: null },
    ...{ ipv4: "10.128.0.0/24", ipv6: "fd00:1:2:3::/64" },
  }),
  remote_key: PRIVATE,
  remote_devices: JSON.stringify([
    { id: "10.128.0.2/32", public_key: PUBLIC, preshared_key: PRIVATE, lan: true },
  ]),
};

/** A backup with something of everything. */
export async function everything(): Promise<Contents> {
  const golden = await Bun.file(`${import.meta.dir}/golden/full.backup`).text();
  const full = (await opened(golden, async () => "")) as Contents;
  return { ...full, settings: { ...full.settings, ...MORE } };
}
