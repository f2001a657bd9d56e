import type { Order } from "../tunnel/order.ts";
import type { TunnelRow } from "../tunnel/schema.ts";

/**
 * The order that a tunnel had when it was disconnected: the gateway forgets it then, so this browser keeps what it has
 * seen, and the page offers it again. It has names of servers, and nothing secret.
 */

const KEY = "portcullis-orders";

type Wanted = Pick<TunnelRow, "name" | "order" | "wanted">;

/** Keeps the orders of tunnels. Someone who has chosen one server since wants no order any more. */
export function rememberOrders(rows: readonly Wanted[]): void {
  const before = kept();
  const after = { ...before };
  for (const { name, order, wanted } of rows) if (order !== undefined || wanted !== null) after[name] = order;
  if (JSON.stringify(after) !== JSON.stringify(before)) keep(after);
}

/** Null while the tunnel leads somewhere, and if this browser has seen no order of it. */
export function lastOrderOf({ name, wanted }: Wanted): Order | null {
  return wanted === null ? (kept()[name] ?? null) : null;
}

type Orders = Record<string, Order | undefined>;

function kept(): Orders {
  try {
    const found: unknown = JSON.parse(localStorage.getItem(KEY) ?? "{}");
    return Object.fromEntries(Object.entries(found ?? {}).filter(([, each]) => isOrder(each)));
  } catch {
    return {};
  }
}

/** Another version of the page may have kept it. */
function isOrder(kept: unknown): kept is Order {
  const { targets } = (kept ?? {}) as Partial<Order>;
  return (
    Array.isArray(targets) && targets.length > 1 && targets.every((each) => typeof each?.server === "string")
  );
}

function keep(orders: Orders): void {
  try {
    localStorage.setItem(KEY, JSON.stringify(orders));
  } catch {
    // A browser that keeps nothing offers nothing.
  }
}
