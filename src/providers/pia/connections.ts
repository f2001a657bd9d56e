import type { Send } from "../../system/host.ts";
import type { Config } from "../../wireguard/schema.ts";
import { malformed, outcome, Refusal } from "../answers.ts";
import type { ConnectionDeps, Connections, PortOfProvider, ServerToRegister } from "../provider.ts";
import { type SignedPort, signedIn } from "./answers.ts";
import { PiaApi, PORT_REFUSED } from "./api.ts";
import { registrationIn, withToken } from "./token.ts";

/** The same interval as in PIA's manual-connections. A server forgets the port of a client that is gone. */
const BIND_EACH_MS = 15 * 60_000;
const BOUND_MS = 2 * BIND_EACH_MS;

/** Each connection is registered with its server, by a token that is kept in memory. */
export class PiaConnections implements Connections {
  constructor(private readonly deps: ConnectionDeps) {}

  registerWith(server: ServerToRegister, send: Send): Promise<Config> {
    const api = new PiaApi(this.deps.api, send);
    return withToken(this.deps, api, (token) => api.register(server, token));
  }

  /** The previous port, as long as PIA reserves it. */
  async forwardPort(server: ServerToRegister, send: Send): Promise<PortOfProvider> {
    const api = new PiaApi(this.deps.api, send);
    const known = registrationIn(this.deps.slot).port;
    if (known !== undefined && isValid(known, this.deps.clock.now())) {
      const bound = await outcome(api.bindPort(server, known));
      if (!(bound instanceof Error)) return portOf(known);
      if (!(bound instanceof Refusal && bound.reason === PORT_REFUSED)) throw bound;
    }
    const port = await withToken(this.deps, api, (token) => api.reservePort(server, token));
    // The operator may have logged out meanwhile.
    await this.deps.slot.save(JSON.stringify({ ...registrationIn(this.deps.slot), port }));
    await api.bindPort(server, port);
    return portOf(port);
  }
}

/** It is reserved for longer than the next binding lasts. */
function isValid(port: SignedPort, now: number): boolean {
  return (signedIn(port)?.expires ?? 0) > now + BOUND_MS;
}

function portOf(port: SignedPort): PortOfProvider {
  const { port: number, expires } = signedIn(port) ?? malformed("port");
  return { port: number, expires, bindEachMs: BIND_EACH_MS };
}
