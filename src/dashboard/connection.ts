/** While it is `lost`, everything else that is known is old: the shell shows it as such, and buttons do nothing. */
export type Connection =
  | { name: "starting" }
  | { name: "live" }
  /** `since` is when the gateway was last heard, in milliseconds since 1970. */
  | { name: "lost"; since: number };
