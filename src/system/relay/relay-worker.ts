import { messageOf } from "../../base/errors.ts";
import { Relay } from "./relay.ts";
import type { FromWorker, ToWorker } from "./relay-thread.ts";

declare const self: Worker;

const relays = new Map<number, Promise<Relay>>();

self.onmessage = ({ data }: MessageEvent<ToWorker>) => {
  if (data.type === "bell" || data.type === "end") return;
  const { id } = data;
  if (data.type === "close") {
    void relays.get(id)?.then((relay) => relay.close());
    relays.delete(id);
    return;
  }
  const relay = Relay.open(data.place, (fault) => tell({ type: "fault", id, fault }));
  relays.set(id, relay);
  relay.then(
    ({ port, wireguardPort }) => tell({ type: "open", id, port, wireguardPort }),
    (error: unknown) => {
      relays.delete(id);
      tell({ type: "failed", id, message: messageOf(error) });
    },
  );
};

function tell(message: FromWorker): void {
  postMessage(message);
}
