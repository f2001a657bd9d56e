// What stands in the address after `#`, without what draws it: tests read it where there is no browser.

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
