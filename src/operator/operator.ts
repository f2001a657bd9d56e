import { join } from "node:path";
import type { NewToken, TokenList } from "../access/schema.ts";
import type { Contents } from "../backup/contents.ts";
import type { Permissions, Restored } from "../backup/restore.ts";
import { messageOf } from "../base/errors.ts";
import type { Log } from "../base/log.ts";
import type { Change } from "../base/saved.ts";
import type { HttpsStatus } from "../certificates/schema.ts";
import type { Checks } from "../checks/schema.ts";
import type { Direct } from "../devices/direct.ts";
import type { QueryLogShown } from "../dns/schema.ts";
import type { Inspection } from "../killswitch/report.ts";
import type { TestResult } from "../notifications/schema.ts";
import type { LoggedOut, ShownAccount } from "../providers/schema.ts";
import type { RemoteChoice, RemoteStatus } from "../remote/schema.ts";
import type { Updated } from "../servers/schema.ts";
import type { Host, HttpsRequest, PinnedRequest } from "../system/host.ts";
import { type Answers, answerOn, askOn } from "./socket.ts";

/** What root reads to whoever becomes an owner. */
export interface PairingCode {
  code: string;
  minutes: number;
  /** Of the page that asks for it. */
  url: string;
  /** Of the certificate there. */
  fingerprint: string | null;
}

/**
 * Requests that only the operator may send to the running service, each with its argument and its answer. Keys travel only
 * this way, out of reach of browsers and LAN clients.
 */
// A type, not an interface: only a type fits the socket's record of requests.
export type OperatorRequests = {
  killswitch: [given: null, answer: Inspection];
  "killswitch/on": [null, null];
  "killswitch/off": [null, null];
  direct: [null, Direct];
  "direct/on": [null, Direct];
  "direct/off": [null, Direct];
  queries: [null, QueryLogShown];
  "queries/on": [null, QueryLogShown];
  "queries/off": [null, QueryLogShown];
  /** Looks at the machine's network, as after a change of which the kernel tells nothing. */
  network: [null, null];
  /** Once the first certificate is in use, or cannot be. */
  https: [null, HttpsStatus];
  "remote/on": [RemoteChoice, RemoteStatus];
  "remote/off": [null, RemoteStatus];
  /** The checks, and the names that a report must not contain. */
  report: [null, { checks: Checks; names: string[] }];
  backup: [null, Contents];
  "restore/preview": [{ contents: unknown; may: Permissions }, Change[]];
  restore: [{ contents: unknown; may: Permissions }, Restored];
  "servers/update": [{ force: boolean }, Updated];
  /** The requests about accounts have a provider's name, or null for the current one. */
  account: [{ provider: string | null }, ShownAccount];
  /** The credentials as typed. */
  "account/login": [{ provider: string | null; credentials: readonly string[] }, ShownAccount];
  "account/logout": [{ provider: string | null; forget: boolean }, LoggedOut];
  "notify/test": [null, TestResult[]];
  /** How a request for a release leaves this machine; null if it may leave as any other program's does. */
  "update/pin": [HttpsRequest, PinnedRequest | null];
  "account/rotate-key": [{ provider: string | null }, ShownAccount];
  token: [null, TokenList];
  "token/add": [{ name: string; readOnly: boolean }, NewToken & Pick<TokenList, "auth">];
  "token/remove": [{ name: string }, null];
  pair: [null, PairingCode];
  /** The token of root's own commands, and the only address to which it may be sent; null if none is needed. */
  "token/own": [null, { token: string; origin: string } | null];
};

export type OperatorAnswers = Answers<OperatorRequests>;

const TRY_AGAIN_MS = 5_000;

/**
 * Answers on a socket in the state directory that only root may open. If it cannot be created, for example on a
 * read-only disk, tries again until it can.
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

/** Sends a request to the running service; null if none runs. Throws the service's error. */
export function askOperator<Name extends keyof OperatorRequests>(
  stateDir: string,
  name: Name,
  given: OperatorRequests[Name][0],
  signal?: AbortSignal,
): Promise<{ answer: OperatorRequests[Name][1] } | null> {
  return askOn<OperatorRequests, Name>(socketIn(stateDir), name, given, signal);
}

function socketIn(stateDir: string): string {
  return join(stateDir, "operator.sock");
}
