import type { Downloaded, SpeedPlace } from "../host.ts";
import { refused } from "../refusals.ts";
import type { OnBytes } from "./download.ts";

export type FromSpeedWorker =
  | { type: "bytes"; bytes: number; ms: number }
  | { type: "done"; downloaded: Downloaded }
  | { type: "failed"; message: string };

/** For what precedes the answer: four addresses and the head, 5 s each, and the start of the thread. */
const MAX_BEFORE_MS = 30_000;

/** In the executable it is below the folder of the main file. */
const WORKER = Bun.main.startsWith("/$bunfs/")
  ? "/$bunfs/root/system/speed/speed-worker.js"
  : new URL("./speed-worker.ts", import.meta.url).href;

/**
 * Downloads in a thread of its own, because a fast line has always more to read, and the loop that repairs the kill
 * switch must not wait for it. The thread ends with the download, and its connection with the thread.
 */
export async function measureDownload(
  place: SpeedPlace,
  onBytes: OnBytes,
  signal: AbortSignal,
): Promise<Downloaded> {
  signal.throwIfAborted();
  const { promise, resolve, reject } = Promise.withResolvers<Downloaded>();
  const ended = () => reject(refused("speed_test_ended_itself"));
  const stop = () => reject(signal.reason);
  const worker = new Worker(WORKER, { smol: true });
  const late = setTimeout(() => reject(refused("speed_test_late")), MAX_BEFORE_MS + place.mostMs);
  worker.onmessage = ({ data }: MessageEvent<FromSpeedWorker>) => {
    if (data.type === "bytes") onBytes(data.bytes, data.ms);
    else if (data.type === "done") resolve(data.downloaded);
    else reject(refused("speed_test_failed", { reason: data.message }));
  };
  worker.onerror = ended;
  worker.addEventListener("close", ended);
  signal.addEventListener("abort", stop, { once: true });
  worker.postMessage(place);
  try {
    return await promise;
  } finally {
    clearTimeout(late);
    signal.removeEventListener("abort", stop);
    worker.terminate();
  }
}
