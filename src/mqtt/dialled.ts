import { connect, isIP, type Socket } from "node:net";
import { connect as connectTls } from "node:tls";
import type { Packet } from "mqtt-packet";

/** A broker that was silent for this long after a ping is gone. */
export const KEEP_ALIVE_MS = 30_000;

/** The parameters of a connection to a broker. */
export interface Dialled {
  /** The address to connect to. */
  address: string;
  /** The gateway's own address in the tunnel, without which nothing is sent; null for a broker on the LAN. */
  from: string | null;
  port: number;
  /** The name or address in the broker's certificate; null without TLS. */
  certified: string | null;
  /** The only authority whose certificates count, in PEM; null for the well-known ones. */
  authority: string | null;
  clientId: string;
  user: string | null;
  password: string | null;
  /** What the broker publishes when the connection is lost. */
  will: { topic: string; payload: string };
}

export function socketTo({ address, from, port, certified, authority }: Dialled): Socket {
  const ends = { host: address, port, ...(from !== null && { localAddress: from }) };
  if (certified === null) return connect(ends);
  // An address is not a server name (RFC 6066, 3).
  const names = isIP(certified) === 0 ? { servername: certified } : {};
  return connectTls({ ...ends, ...names, ...(authority !== null && { ca: authority }) });
}

/** The first packet of a session. */
export function hello({ clientId, user, password, will }: Dialled): Packet {
  return {
    cmd: "connect",
    protocolId: "MQTT",
    protocolVersion: 4,
    clientId,
    clean: true,
    keepalive: (2 * KEEP_ALIVE_MS) / 1000,
    will: { ...will, qos: 0, retain: true },
    ...(user !== null && { username: user }),
    ...(user !== null && password !== null && { password: Buffer.from(password) }),
  };
}
