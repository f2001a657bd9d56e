import { useEffect, useState } from "preact/hooks";

/** The part of the address after `#/`, such as `servers`; empty for Home. */
export function useRoute(): string {
  return useHash(routeOf);
}

/** What the view is to show first, such as a device: what follows the route, as in `#/devices/02:00:00:00:00:10`. */
export function useDetail(): string {
  return useHash(detailOf);
}

/** Another detail of the same view, in the same entry of the browser's history. */
export function showDetail(route: string, detail: string): void {
  history.replaceState(history.state, "", `#/${detail === "" ? route : pathTo(route, detail)}`);
  dispatchEvent(new HashChangeEvent("hashchange"));
}

/** A link to a view that shows this first. */
export function pathTo(route: string, detail: string): string {
  return `${route}/${encodeURIComponent(detail)}`;
}

export function routeOf(hash: string): string {
  return hash.replace(/^#\/?/, "").replace(/[?/].*$/, "");
}

export function detailOf(hash: string): string {
  const [, detail = ""] = /^#\/?[^?/]+\/([^?]*)/.exec(hash) ?? [];
  try {
    return decodeURIComponent(detail);
  } catch {
    // Somebody has typed it.
    return detail;
  }
}

function useHash(part: (hash: string) => string): string {
  const [value, setValue] = useState(part(location.hash));
  useEffect(() => {
    const change = () => setValue(part(location.hash));
    addEventListener("hashchange", change);
    return () => removeEventListener("hashchange", change);
  }, [part]);
  return value;
}
