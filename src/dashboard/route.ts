import { useEffect, useState } from "preact/hooks";

/** The part of the address after `#/`, such as `servers`; empty for Home. */
export function useRoute(): string {
  const [route, setRoute] = useState(routeOf(location.hash));
  useEffect(() => {
    const change = () => setRoute(routeOf(location.hash));
    addEventListener("hashchange", change);
    return () => removeEventListener("hashchange", change);
  }, []);
  return route;
}

function routeOf(hash: string): string {
  return hash.replace(/^#\/?/, "").replace(/[?/].*$/, "");
}
