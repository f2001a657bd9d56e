import { type Static, Type } from "typebox";
import { objectOf } from "../base/object.ts";
import type { Host } from "../system/host.ts";

const FIGURES = { rx_bytes: Type.Integer({ minimum: 0 }), tx_bytes: Type.Integer({ minimum: 0 }) };

/** Payload of a `traffic` event. */
export const TrafficUpdate = objectOf({
  at: Type.String({ description: "ISO 8601" }),
  tunnels: Type.Array(objectOf({ name: Type.String(), ...FIGURES }), {
    description: "all tunnels, with what their present sessions have carried",
  }),
  devices: Type.Array(objectOf({ id: Type.String(), ...FIGURES }), {
    description: "the devices whose figures have changed",
  }),
});
export type TrafficUpdate = Static<typeof TrafficUpdate>;

type Bytes = Omit<TrafficUpdate["tunnels"][number], "name">;

/** Where the figures come from. */
export interface Meters {
  tunnels: () => Promise<TrafficUpdate["tunnels"]>;
  devices: {
    /** Reads what the devices have carried; never throws. */
    count(): Promise<void>;
    /** As read last. */
    readonly carried: ReadonlyMap<string, { rx: number; tx: number }>;
  };
  clock: Pick<Host, "now" | "monotonic" | "sleep">;
}

const EVERY_MS = 1_000;
/** Each reading runs `nft`. */
const DEVICES_EVERY_MS = 5_000;
/** A message of 320 devices takes up to 30 KB, which a socket's backlog has room for; the others follow in the next ones. */
const MAX_DEVICES = 320;

interface Followed extends Pick<Meters, "devices"> {
  tunnels: { all(): readonly { name: string; controller: { carried(): Promise<Bytes> } }[] };
  host: Meters["clock"];
}

/** Calls the listener with what tunnels and devices have carried, until the returned function is called. */
export function followTraffic(
  { tunnels, devices, host }: Followed,
  listener: (update: TrafficUpdate) => void,
): () => void {
  const ending = new AbortController();
  const read = async () => {
    // A tunnel whose figures cannot be read is left out.
    const all = tunnels.all().map(async ({ name, controller }) => {
      const carried = await controller.carried().catch(() => null);
      return carried === null ? [] : [{ name, ...carried }];
    });
    return (await Promise.all(all)).flat();
  };
  void reportTraffic({ tunnels: read, devices, clock: host }, listener, ending.signal);
  return () => ending.abort();
}

/** Reports what tunnels and devices have carried, at once and then every second until `signal` aborts. */
export async function reportTraffic(
  { tunnels, devices, clock }: Meters,
  report: (update: TrafficUpdate) => void,
  signal: AbortSignal,
): Promise<void> {
  const told = new Map<string, string>();
  let countedAt = Number.NEGATIVE_INFINITY;
  while (!signal.aborted) {
    const start = clock.monotonic();
    if (start - countedAt >= DEVICES_EVERY_MS) {
      countedAt = start;
      // Not waited for: it may take long on a busy machine, and the messages are a sign of life.
      void devices.count();
    }
    const at = new Date(clock.now()).toISOString();
    const update = { at, tunnels: await tunnels(), devices: changesOf(devices.carried, told) };
    if (signal.aborted) return;
    report(update);
    await clock.sleep(Math.max(0, EVERY_MS - (clock.monotonic() - start)), signal);
  }
}

/** Adds to `told` what it returns. */
function changesOf(
  carried: Meters["devices"]["carried"],
  told: Map<string, string>,
): TrafficUpdate["devices"] {
  for (const id of told.keys()) if (!carried.has(id)) told.delete(id);
  const changed = [...carried].filter(([id, { rx, tx }]) => told.get(id) !== `${rx} ${tx}`);
  return changed.slice(0, MAX_DEVICES).map(([id, { rx, tx }]) => {
    told.set(id, `${rx} ${tx}`);
    return { id, rx_bytes: rx, tx_bytes: tx };
  });
}
