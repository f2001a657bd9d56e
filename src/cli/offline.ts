import { GatewayError } from "../errors.ts";
import type { Graph } from "../graph.ts";
import { listTable } from "../killswitch/table.ts";
import type { Settings } from "../settings.ts";

/** The parts of a gateway while no service runs, for a request that leaves like any other program's. */
export async function offlineGraph(settings: Settings): Promise<Graph> {
  const { graphOf } = await import("../graph.ts");
  const graph = await graphOf(settings);
  if ((await listTable(graph.host)) === null) return graph;
  throw new GatewayError(
    "unable",
    "the kill switch is in place, and only the running service can permit this request; start it: systemctl start portcullis",
  );
}
