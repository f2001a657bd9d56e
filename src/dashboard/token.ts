/** The token that a person has entered: kept until the tab is closed, or in the browser. */

/** swagger/init.js reads it too. */
const KEY = "portcullis-token";

export type Keep = "tab" | "browser";

export function keptToken(): string | null {
  return storageOf("tab")?.getItem(KEY) ?? storageOf("browser")?.getItem(KEY) ?? null;
}

export function keepToken(token: string, keep: Keep): void {
  forgetToken();
  storageOf(keep)?.setItem(KEY, token);
}

export function forgetToken(): void {
  for (const each of ["tab", "browser"] as const) storageOf(each)?.removeItem(KEY);
}

/** The header of a request. */
export function bearing(token: string | null): Record<string, string> {
  return token === null ? {} : { Authorization: `Bearer ${token}` };
}

/** The subprotocols of a WebSocket, because a page cannot give it headers. The gateway chooses the first. */
export function protocolsWith(token: string | null): string[] {
  return token === null ? [] : ["portcullis", `portcullis.bearer.${token}`];
}

/** Null in a browser that keeps nothing for this page. */
function storageOf(keep: Keep): Storage | null {
  try {
    return keep === "tab" ? sessionStorage : localStorage;
  } catch {
    return null;
  }
}
