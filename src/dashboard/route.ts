import { useEffect, useState } from "preact/hooks";
import { detailOf, pathTo, routeOf } from "./hash.ts";

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

function useHash(part: (hash: string) => string): string {
  const [value, setValue] = useState(part(location.hash));
  useEffect(() => {
    const change = () => setValue(part(location.hash));
    addEventListener("hashchange", change);
    // It may have changed between the first drawing and this.
    change();
    return () => removeEventListener("hashchange", change);
  }, [part]);
  return value;
}
