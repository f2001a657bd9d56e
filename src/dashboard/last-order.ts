import type { FavouriteList, ServerTree } from "../servers/schema.ts";
import type { Order, OrderTarget } from "../tunnel/order.ts";
import type { TunnelRow } from "../tunnel/schema.ts";
import type { Answers } from "./store.ts";

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

/** What the gateway says since; null is not known. */
export interface Since {
  /** Of one provider. */
  servers: Answers["servers"] | null;
  /** Where `main` was connected, the latest first. */
  recent: FavouriteList["recent"] | null;
}

/**
 * What can still be asked for of an order that was kept: with a target that the lists no longer have, each connect would
 * fail. Null if less than an order is left, or if `main` was connected elsewhere since, as from another browser.
 */
export function stillWanted(order: Order, tunnel: string, { servers, recent }: Since): Order | null {
  const tree = ({ provider }: { provider: string }) =>
    servers?.provider === provider ? servers.servers : null;
  const isThere = (each: OrderTarget) => {
    const known = tree(each);
    return known === null || [each.server, each.via ?? each.server].every((name) => isIn(name, known));
  };
  const targets = order.targets.filter(isThere);
  const latest = tunnel === "main" ? recent?.[0] : undefined;
  const leadsTo = (each: OrderTarget) =>
    each.provider === latest?.provider && leads(each.server, latest.server, tree(each));
  if (targets.length < 2 || (latest !== undefined && !order.targets.some(leadsTo))) return null;
  return targets.length === order.targets.length ? order : { ...order, targets, at: 0 };
}

/** Whether it is the name of a country, a city or a server. */
function isIn(name: string, tree: ServerTree): boolean {
  return (
    Object.hasOwn(tree, name) || placesIn(tree).some((each) => each.names.includes(name) || each.has(name))
  );
}

/** Whether a target is this server or its place; of a provider whose servers are not known, it may be. */
function leads(target: string, server: string, tree: ServerTree | null): boolean {
  if (target === server || tree === null) return true;
  return placesIn(tree).some(
    (each) => (each.country === target || each.names.includes(target)) && each.has(server),
  );
}

function placesIn(tree: ServerTree) {
  return Object.entries(tree).flatMap(([country, cities]) =>
    Object.entries(cities).map(([city, records]) => ({
      ...{ country, names: [city, `${city}, ${country}`] },
      has: (server: string) => records.some(({ hostname }) => hostname === server),
    })),
  );
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
