/** A server as a WireGuard interface knows it. */
export interface FakePeer {
  publicKey: string;
  presharedKey: string | null;
  endpoint: string;
  allowedIps: string[];
  /** Seconds; 0 is off. */
  keepalive: number;
  /** As WireGuard shows it: milliseconds since 1970, 0 is none yet. */
  latestHandshake: number;
  /** Since when the interface knows it, on the monotone clock. */
  knownAt: number;
  /** Of that handshake and of the last packet out, on the monotone clock. */
  metAt: number;
  sentAt: number;
  /** Since when data waits for an answer of the server; null where it does not. */
  askedAt: number | null;
  sent: Count;
  received: Count;
}

interface Count {
  bytes: number;
  packets: number;
  /** The packets of them that are not WireGuard's own. */
  data: number;
}

/** What a test decides of the servers and of the way to them. */
export interface Internet {
  /** Whether anything gets there and back. */
  readonly online: boolean;
  /** Whether clients send through the tunnel. */
  readonly busy: boolean;
  /** Whether what clients send asks for no answer: the server's WireGuard then answers by itself within 10 s. */
  readonly oneWay: boolean;
  /** Endpoints, `address:port`, that answer no handshake. */
  readonly silent: ReadonlySet<string>;
  /** Endpoints that hear nothing, and ask for a handshake again and again. */
  readonly deaf: ReadonlySet<string>;
  /** Those on loopback lead to servers. */
  readonly relays: { carries(endpoint: string): boolean; serverAt(endpoint: string): string };
  /** Endpoints that answer handshakes, and drop what is inside the tunnel. */
  readonly hollow: ReadonlySet<string>;
  /** Milliseconds that the first handshake with an endpoint takes; no time where none is given. */
  readonly roundTrips: ReadonlyMap<string, number>;
  now(): number;
  monotonic(): number;
}

/** Of a peer that has not called yet, as `wg` shows it. */
export const NO_ENDPOINT = "(none)";
/** Clients send, and get an answer, this often while `busy`. */
const DATA_EVERY_MS = 100;
const DATA_BYTES = 128;
const KEEPALIVE_BYTES = 32;
/** A peer that has nothing to send answers data by a keepalive after this long (KEEPALIVE_TIMEOUT). */
const PASSIVE_KEEPALIVE_MS = 10_000;
/** WireGuard shakes hands again with the first packet after this long (REKEY_AFTER_TIME). */
const REKEY_AFTER_MS = 120_000;
/** Who gets no answer to a handshake asks again (REKEY_TIMEOUT). */
const ASKS_AGAIN_MS = 5_000;
const HANDSHAKE_BYTES = { initiation: 148, response: 92 };

/** What WireGuard is told of a server. */
export type ToldPeer = Pick<FakePeer, "publicKey" | "presharedKey" | "endpoint" | "allowedIps" | "keepalive">;

/** A server that the interface has just been told of. */
export function newPeer(told: ToldPeer, at: number): FakePeer {
  const nothing = () => ({ bytes: 0, packets: 0, data: 0 });
  const times = { latestHandshake: 0, metAt: 0, knownAt: at, sentAt: at, askedAt: null };
  return { ...told, ...times, sent: nothing(), received: nothing() };
}

/** A peer that is reached for the first time shakes hands. */
export function meet(peer: FakePeer, internet: Internet): void {
  if (peer.latestHandshake !== 0 || !internet.online || !isHeard(peer, internet)) return;
  const takes = internet.roundTrips.get(internet.relays.serverAt(peer.endpoint));
  const at = takes === undefined ? internet.monotonic() : peer.knownAt + takes;
  if (at > internet.monotonic()) return;
  shakeHands(peer, at, internet);
  // The keepalive that asked for the handshake follows it.
  count(peer.sent, 1, KEEPALIVE_BYTES);
}

/** What goes out through WireGuard from now until then, and what comes back. */
export function converse(peer: FakePeer, until: number, internet: Internet): void {
  if (!internet.online) return;
  const answers = isHeard(peer, internet);
  if (internet.deaf.has(peer.endpoint)) {
    const attempts = Math.floor(until / ASKS_AGAIN_MS) - Math.floor(internet.monotonic() / ASKS_AGAIN_MS);
    count(peer.received, attempts, HANDSHAKE_BYTES.initiation);
    count(peer.sent, attempts, HANDSHAKE_BYTES.response);
  }
  const data = internet.busy ? dataUntil(until) - dataUntil(internet.monotonic()) : 0;
  count(peer.sent, data, DATA_BYTES);
  const isAnswered = !internet.oneWay && !internet.hollow.has(peer.endpoint);
  if (answers && isAnswered) count(peer.received, data, DATA_BYTES);
  if (answers && !isAnswered) acknowledge(peer, data, until);
  if (data > 0) peer.sentAt = until;
  const keepaliveMs = peer.keepalive * 1_000;
  const keepalives = keepaliveMs === 0 ? 0 : Math.floor((until - peer.sentAt) / keepaliveMs);
  count(peer.sent, keepalives, KEEPALIVE_BYTES);
  peer.sentAt += keepalives * keepaliveMs;
  const due = peer.sentAt - peer.metAt >= REKEY_AFTER_MS && data + keepalives > 0;
  if (due && answers) shakeHands(peer, peer.sentAt, internet);
}

function isHeard({ endpoint }: FakePeer, { silent, deaf, relays }: Internet): boolean {
  return endpoint !== NO_ENDPOINT && !silent.has(endpoint) && !deaf.has(endpoint) && relays.carries(endpoint);
}

function acknowledge(peer: FakePeer, data: number, until: number): void {
  if (data > 0) peer.askedAt ??= dataUntil(until) * DATA_EVERY_MS;
  if (peer.askedAt === null || until - peer.askedAt < PASSIVE_KEEPALIVE_MS) return;
  count(peer.received, 1, KEEPALIVE_BYTES);
  peer.askedAt = null;
}

function shakeHands(peer: FakePeer, at: number, internet: Internet): void {
  count(peer.sent, 1, HANDSHAKE_BYTES.initiation);
  count(peer.received, 1, HANDSHAKE_BYTES.response);
  const ahead = internet.now() - internet.monotonic();
  Object.assign(peer, { metAt: at, sentAt: at, latestHandshake: at + ahead });
}

/** How many packets of data clients have sent by then, had they always sent. */
function dataUntil(at: number): number {
  return Math.floor(at / DATA_EVERY_MS);
}

function count(so: Count, packets: number, bytesEach: number): void {
  so.packets += packets;
  so.bytes += packets * bytesEach;
  if (bytesEach === DATA_BYTES) so.data += packets;
}
