import { GatewayError } from "../errors.ts";
import type { Graph } from "../graph.ts";
import { listTable } from "../killswitch/table.ts";
import type { Settings } from "../settings.ts";

/** The parts of a gateway where no service runs, for a request that then leaves as any other program's would. */
export async function offlineGraph(settings: Settings): Promise<Graph> {
  const { graphOf } = await import("../graph.ts");
  const graph = await graphOf(settings);
  if ((await listTable(graph.host)) === null) return graph;
  throw new GatewayError(
    "unable",
    "the kill switch stands and no service runs that could let this request pass; start it: systemctl start portcullis",
  );
}
