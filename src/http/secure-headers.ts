/** Headers of every answer; a route that needs another Content-Security-Policy or caching sets its own. */
export function setSecureHeaders(headers: Headers): void {
  headers.set("X-Content-Type-Options", "nosniff");
  headers.set("X-Frame-Options", "DENY");
  // Other sites learn nothing; here it tells the gateway's own pages from those of others.
  headers.set("Referrer-Policy", "same-origin");
  headers.set("Cross-Origin-Resource-Policy", "same-origin");
  if (!headers.has("Content-Security-Policy")) headers.set("Content-Security-Policy", NOTHING);
  // Status, servers and keys may change at any time: no cache may store them.
  if (!headers.has("Cache-Control")) headers.set("Cache-Control", "no-store");
}

/** JSON and plain text load nothing, even if a browser shows them as a document. */
const NOTHING = "default-src 'none'; frame-ancestors 'none'";
