/** How WireGuard's packets look on the way to a server. Both rewrite a packet at the begin of a buffer that has room. */
export interface Disguise {
  /** What is sent before such a packet. */
  ahead?(bytes: Uint8Array, length: number): readonly Uint8Array<ArrayBuffer>[];
  /** The packet's new length; 0 if it is not one of WireGuard's. */
  hide(bytes: Uint8Array, length: number): number;
  /** The same for what the server sends. */
  show(bytes: Uint8Array, length: number): number;
}
