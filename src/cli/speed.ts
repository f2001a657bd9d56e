import { CommandError } from "../base/errors.ts";
import { SpeedResult, SpeedTestList } from "../speed/schema.ts";
import { type Api, LONG_ANSWER_TIMEOUT_MS } from "./api.ts";
import { host, type Output } from "./api-command.ts";
import { list, printable } from "./text.ts";

const LOOK_EVERY_MS = 500;
const BYTES_PER_MEGABYTE = 1_000_000;

export interface SpeedFlags {
  tunnel?: string;
  seconds?: string;
  megabytes?: string;
}

/** Without an address, the results that are kept. */
export async function speedTest(api: Api, url: string | undefined, flags: SpeedFlags): Promise<Output> {
  if (url === undefined) return results(api);
  const { tunnel, seconds, megabytes } = flags;
  const body = {
    url,
    ...(tunnel !== undefined && { tunnel }),
    ...(seconds !== undefined && { seconds: numberIn("--seconds", seconds) }),
    ...(megabytes !== undefined && { megabytes: numberIn("--megabytes", megabytes) }),
  };
  const result = await withProgress(
    api,
    api.post("/api/speed-tests", SpeedResult, body, LONG_ANSWER_TIMEOUT_MS),
  );
  const { server, bytes, seconds: took, mbit_per_second } = result;
  const text = `${result.tunnel}: ${mbit_per_second} Mbit/s by ${printable(server)} (${megabytesOf(bytes)} MB in ${took.toFixed(1)} s)\n`;
  return { json: result, text };
}

async function results(api: Api): Promise<Output> {
  const json = await api.get("/api/speed-tests", SpeedTestList);
  const rows = json.results.map(({ at, tunnel, server, mbit_per_second, url }) => [
    at.replace(/\.\d+Z$/, "Z"),
    tunnel,
    printable(server),
    `${mbit_per_second} Mbit/s`,
    printable(url),
  ]);
  const text =
    rows.length === 0
      ? "No speed test was made yet; name an https address to download from.\n"
      : list(["Time", "Tunnel", "Server", "Download", "From"], rows);
  return { json, text };
}

/** On a terminal, how fast it is until now. */
async function withProgress<T>(api: Api, work: Promise<T>): Promise<T> {
  if (!process.stderr.isTTY) return work;
  const ending = new AbortController();
  const stop = () => ending.abort();
  work.then(stop, stop);
  while (!ending.signal.aborted) {
    const { running } = await api.get("/api/speed-tests", SpeedTestList).catch(() => ({ running: null }));
    if (running !== null && !ending.signal.aborted)
      process.stderr.write(
        `\r\x1b[K${megabytesOf(running.bytes)} MB, ${running.mbit_per_second ?? "…"} Mbit/s`,
      );
    await host.sleep(LOOK_EVERY_MS, ending.signal).catch(() => {});
  }
  process.stderr.write("\r\x1b[K");
  return work;
}

function megabytesOf(bytes: number): string {
  return (bytes / BYTES_PER_MEGABYTE).toFixed(1);
}

function numberIn(flag: string, text: string): number {
  if (!/^[0-9]{1,4}$/.test(text)) throw new CommandError("bad_request", `${flag}: must be a whole number`);
  return Number(text);
}
