import type { Endpoint } from "../access/limiter.ts";
import type { Route } from "./route.ts";
import { PAGES, routesOf } from "./routes.ts";

// What holds for a path before a route is found for it, and also if there is none.

const ROUTES: readonly Route[] = [...routesOf(true), ...PAGES];
const PATHS = new Set(ROUTES.map(({ path }) => path));
/** What is read there has a limit of its own, whatever else the path is for. */
const READ = new Set(
  ROUTES.filter(({ method, limit }) => method === "get" && limit === undefined).map(({ path }) => path),
);
const CONNECTING = new Set(ROUTES.filter(({ limit }) => limit === "connection").map(({ path }) => path));
const CONNECTING_BELOW = new Set(
  [...CONNECTING].filter((path) => path.includes(":")).map((path) => path.replace(/:.*/, "")),
);
const GUARDED = ROUTES.filter(({ access }) => access !== undefined).map((route) => ({
  pattern: patternOf(route),
  access: route.access,
}));
const PERSONAL = new Set(ROUTES.filter(({ page }) => page).map(({ path }) => path));
const SLASHED = ROUTES.filter(({ slash }) => slash).map(patternOf);

/** What a request is limited as; null if it is not limited. Unknown paths under /api and /v1 are too. */
export function endpointOf(method: string, path: string): Endpoint | null {
  const connects = PATHS.has(path)
    ? CONNECTING.has(path) && !(method === "GET" && READ.has(path))
    : CONNECTING_BELOW.values().some((begin) => path.startsWith(begin));
  if (connects) return "connection";
  return /^\/(api|v1)(\/|$)/.test(path) ? "general" : null;
}

/** Who may use a path, as its route says. */
export function accessOf(path: string): Route["access"] {
  return GUARDED.find(({ pattern }) => pattern.test(path))?.access;
}

/** Whether a token may be typed there. */
export function isPage(path: string): boolean {
  return PERSONAL.has(path);
}

/** Whether a path may have an encoded slash. */
export function mayHaveSlash(path: string): boolean {
  return SLASHED.some((pattern) => pattern.test(path));
}

function patternOf({ path }: Route): RegExp {
  return new RegExp(`^${path.replaceAll(".", "\\.").replaceAll(/:\w+/g, "[^/]+")}$`);
}
