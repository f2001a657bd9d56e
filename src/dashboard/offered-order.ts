import { useMemo } from "preact/hooks";
import type { Order } from "../tunnel/order.ts";
import type { TunnelRow } from "../tunnel/schema.ts";
import { knownOf, useAnswer } from "./answers.ts";
import { lastOrderOf, stillWanted } from "./last-order.ts";

/** The order that is offered again for a tunnel that leads nowhere; null if there is none. */
export function useOfferedOrder(row: TunnelRow | undefined): Order | null {
  const last = row === undefined ? null : lastOrderOf(row);
  // The list of servers is long, and mostly not needed.
  const servers = knownOf(useAnswer("servers", last !== null));
  const recent = knownOf(useAnswer("favourites", last !== null))?.recent ?? null;
  const text = JSON.stringify(last);
  return useMemo(
    () => last && stillWanted(last, row?.name ?? "", { servers, recent }),
    [text, row?.name, servers, recent],
  );
}
