import { GatewayError, messageOf } from "../base/errors.ts";
import type { Log } from "../base/log.ts";
import { titleOf } from "../servers/hops.ts";
import type { Host } from "../system/host.ts";
import { ephemeralKeys, patienceAfter, SERVICE } from "./ephemeral-peer.ts";
import type { Kernel } from "./kernel.ts";
import { refused } from "./refusals.ts";
import type { Session } from "./session.ts";

interface Deps {
  host: Pick<Host, "call">;
  kernel: Pick<Kernel, "configure" | "leadTo" | "leadNoMore">;
  log: Pick<Log, "info" | "warn">;
}

/** What the dialer knows of the session. */
interface Dialled {
  /** Whether a live session of the tunnel carries traffic: its routes stay as they are. */
  isReplacing: boolean;
  /** Whether the server answers a handshake with the keys that the interface has now. */
  hasAnswered: (session: Session) => Promise<boolean>;
  signal: AbortSignal;
}

/** Gives sessions keys that are safe from quantum computers, before they carry anything. */
export class KeyAgreement {
  /** How many times in a row there was no answer. */
  private failures = 0;

  constructor(private readonly deps: Deps) {}

  /**
   * The session with such keys, with which its server has answered. If there are none, it is the session as it was, or
   * throws if they are required. What the caller clears after an error includes the interface.
   */
  async keyed(session: Session, dialled: Dialled): Promise<Session> {
    const { kernel, log } = this.deps;
    const title = titleOf(session.server);
    let isConfigured = false;
    try {
      const keys = await this.agree(session, dialled);
      const keyed = { ...session, keys };
      isConfigured = true;
      await kernel.configure(keyed);
      if (!(await dialled.hasAnswered(keyed))) throw silence(title);
      log.info(`${title}: its keys are safe from quantum computers`);
      return keyed;
    } catch (error) {
      dialled.signal.throwIfAborted();
      const code = error instanceof GatewayError && error.code !== "timed_out" ? error.code : "no_answer";
      const failed = refused("quantum_failed", { server: title, reason: messageOf(error) }, { code });
      if (session.server.quantum === "require") throw failed;
      log.warn(`${failed.message}; going on without`);
      if (!isConfigured) return session;
      await kernel.configure(session);
      if (await dialled.hasAnswered(session)) return session;
      throw silence(title);
    }
  }

  private async agree(session: Session, { isReplacing, signal }: Dialled) {
    const { host, kernel } = this.deps;
    const { link, mark, server } = session;
    const own = server.config.interface.privateKey;
    // Where it goes on without, devices wait for nothing.
    const withinMs = patienceAfter(server.quantum === "require" ? this.failures : 0);
    if (!isReplacing) await kernel.leadTo(session, SERVICE.address);
    try {
      const keys = await ephemeralKeys(host, { link, mark, own }, withinMs, signal);
      this.failures = 0;
      return keys;
    } catch (error) {
      if (error instanceof GatewayError && error.code === "timed_out") this.failures += 1;
      throw error;
    } finally {
      if (!isReplacing) await kernel.leadNoMore(SERVICE.address);
    }
  }
}

function silence(title: string): GatewayError {
  return refused("quantum_silent", { server: title });
}
