import { messageOf } from "../../base/errors.ts";
import type { SpeedPlace } from "../host.ts";
import { download } from "./download.ts";
import type { FromSpeedWorker } from "./speed-thread.ts";

declare const self: Worker;

/** The only message: what to download. */
self.onmessage = ({ data }: MessageEvent<SpeedPlace>) => {
  download(data, (bytes, ms) => tell({ type: "bytes", bytes, ms })).then(
    (downloaded) => tell({ type: "done", downloaded }),
    (error: unknown) => tell({ type: "failed", message: messageOf(error) }),
  );
};

function tell(message: FromSpeedWorker): void {
  postMessage(message);
}
