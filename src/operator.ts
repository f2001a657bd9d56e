import { existsSync, unlinkSync } from "node:fs";
import { join } from "node:path";
import type { Contents } from "./backup/contents.ts";
import type { Permissions, Restored } from "./backup/restore.ts";
import { type Code, GatewayError, messageOf } from "./errors.ts";
import type { Inspection } from "./killswitch/report.ts";
import type { Log } from "./log.ts";
import type { LoggedOut } from "./providers/mullvad/account.ts";
import type { ShownAccount } from "./providers/mullvad/shown.ts";
import type { Updated } from "./servers/updates.ts";
import type { Host } from "./system/host.ts";

/**
 * What only the operator may ask of the running service, each with what is given and what comes back. The kill switch
 * comes down here and nowhere else, and keys and credentials go this way alone, so that no browser and no LAN client
 * can reach any of it.
 */
export interface Requests {
  killswitch: [given: null, answer: Inspection];
  "killswitch/on": [null, null];
  "killswitch/off": [null, null];
  backup: [null, Contents];
  restore: [{ contents: unknown; may: Permissions }, Restored];
  "servers/update": [{ force: boolean }, Updated];
  account: [null, ShownAccount];
  "account/login": [{ number: string }, ShownAccount];
  "account/logout": [{ forget: boolean }, LoggedOut];
  "account/rotate-key": [null, ShownAccount];
}

export type Answers = {
  [Path in keyof Requests]: (given: Requests[Path][0]) => Promise<Requests[Path][1]>;
};

/**
 * Answers on a socket in the state directory that only root may open. Where it cannot be made, on a read-only disk say,
 * it is tried again until it can.
 */
export function answerOperator(
  stateDir: string,
  answers: Answers,
  { clock, log }: { clock: Pick<Host, "sleep">; log: Pick<Log, "warn"> },
): { stop(): void } {
  const stopping = new AbortController();
  void (async () => {
    for (let told = false; !stopping.signal.aborted; told = true) {
      try {
        return answerOn(socketIn(stateDir), answers, stopping.signal);
      } catch (error) {
        if (!told) log.warn(`the operator's commands cannot reach this service yet: ${messageOf(error)}`);
        await clock.sleep(TRY_AGAIN_MS, stopping.signal);
      }
    }
  })();
  return { stop: () => stopping.abort() };
}

const TRY_AGAIN_MS = 5_000;

function answerOn(path: string, answers: Answers, signal: AbortSignal): void {
  // What a killed service left behind: the state directory is claimed, so nobody answers there.
  if (existsSync(path)) unlinkSync(path);
  const routes = Object.entries(answers).map(([name, answer]) => [
    `/${name}`,
    {
      POST: (request: Request, server: Bun.Server<undefined>) => {
        // The internet may be asked meanwhile, and it may be slow.
        server.timeout(request, 0);
        return answered(answer as (given: unknown) => Promise<unknown>, request);
      },
    },
  ]);
  const server = Bun.serve({
    unix: path,
    routes: { "/": () => new Response("portcullis"), ...Object.fromEntries(routes) },
  });
  signal.addEventListener("abort", () => {
    void server.stop(true);
    try {
      unlinkSync(path);
    } catch {
      // The next start does it.
    }
  });
}

/** Asks the running service; null where none runs. Throws what the service says. */
export async function askOperator<Path extends keyof Requests>(
  stateDir: string,
  path: Path,
  given: Requests[Path][0],
): Promise<{ answer: Requests[Path][1] } | null> {
  const unix = socketIn(stateDir);
  if (!(await isAnswered(unix))) return null;
  const body = JSON.stringify(given);
  const response = await fetch(`http://localhost/${path}`, { unix, method: "POST", body, timeout: false });
  const said = (await response.json()) as { answer: Requests[Path][1] } | { code: Code; message: string };
  if ("code" in said) throw new GatewayError(said.code, said.message);
  return said;
}

async function answered(answer: (given: unknown) => Promise<unknown>, request: Request): Promise<Response> {
  try {
    return Response.json({ answer: await answer(await request.json()) });
  } catch (error) {
    const code = error instanceof GatewayError ? error.code : "unable";
    return Response.json({ code, message: messageOf(error) }, { status: 500 });
  }
}

async function isAnswered(path: string): Promise<boolean> {
  if (!existsSync(path)) return false;
  return fetch("http://localhost/", { unix: path }).then(
    (response) => response.ok,
    () => false,
  );
}

function socketIn(stateDir: string): string {
  return join(stateDir, "operator.sock");
}
