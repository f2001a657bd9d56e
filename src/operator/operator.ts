import { join } from "node:path";
import type { Contents } from "../backup/contents.ts";
import type { Permissions, Restored } from "../backup/restore.ts";
import { messageOf } from "../errors.ts";
import type { Inspection } from "../killswitch/report.ts";
import type { Log } from "../log.ts";
import type { LoggedOut, ShownAccount } from "../providers/provider.ts";
import type { Updated } from "../servers/updates.ts";
import type { Host } from "../system/host.ts";
import { type Answers, answerOn, askOn } from "./socket.ts";

/**
 * What only the operator may ask of the running service, each with what is given and what comes back. The kill switch
 * is taken down here and nowhere else, and keys and credentials go this way alone, so that no browser and no LAN
 * client can reach any of it.
 */
// A type, not an interface: only a type fits the socket's record of requests.
export type OperatorRequests = {
  killswitch: [given: null, answer: Inspection];
  "killswitch/on": [null, null];
  "killswitch/off": [null, null];
  backup: [null, Contents];
  restore: [{ contents: unknown; may: Permissions }, Restored];
  "servers/update": [{ force: boolean }, Updated];
  account: [null, ShownAccount];
  /** The provider's name, or null for the first of the list; what was typed for each of its credentials. */
  "account/login": [{ provider: string | null; credentials: readonly string[] }, ShownAccount];
  "account/logout": [{ forget: boolean }, LoggedOut];
  "account/rotate-key": [null, ShownAccount];
};

export type OperatorAnswers = Answers<OperatorRequests>;

const TRY_AGAIN_MS = 5_000;

/**
 * Answers on a socket in the state directory that only root may open. Where it cannot be made, on a read-only disk for
 * example, it is tried again until it can.
 */
export function answerOperator(
  stateDir: string,
  answers: OperatorAnswers,
  { clock, log }: { clock: Pick<Host, "sleep">; log: Pick<Log, "warn"> },
): { stop(): void } {
  const stopping = new AbortController();
  void (async () => {
    for (let warned = false; !stopping.signal.aborted; warned = true) {
      try {
        return answerOn<OperatorRequests>(socketIn(stateDir), answers, stopping.signal);
      } catch (error) {
        if (!warned) log.warn(`the operator's commands cannot reach this service yet: ${messageOf(error)}`);
        await clock.sleep(TRY_AGAIN_MS, stopping.signal);
      }
    }
  })();
  return { stop: () => stopping.abort() };
}

/** Asks the running service; null where none runs. Throws what the service says. */
export function askOperator<Name extends keyof OperatorRequests>(
  stateDir: string,
  name: Name,
  given: OperatorRequests[Name][0],
): Promise<{ answer: OperatorRequests[Name][1] } | null> {
  return askOn<OperatorRequests, Name>(socketIn(stateDir), name, given);
}

function socketIn(stateDir: string): string {
  return join(stateDir, "operator.sock");
}
