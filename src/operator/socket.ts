import { existsSync, unlinkSync } from "node:fs";
import { CommandError, codeNamed, codeOf, messageOf } from "../base/errors.ts";
import { setupCommand } from "../system/layout.ts";

/** The requests of a socket by name, with argument and answer. */
export type Requests = Record<string, [given: unknown, answer: unknown]>;

export type Answers<Known extends Requests> = {
  [Name in keyof Known]: (given: Known[Name][0]) => Promise<Known[Name][1]>;
};

/** Answers on a socket file, open to those with write permission on it, until the signal aborts. */
export function answerOn<Known extends Requests>(
  path: string,
  answers: Answers<Known>,
  signal: AbortSignal,
): void {
  // A killed service left it behind. This process has claimed the state directory, so no other one answers there.
  if (existsSync(path)) unlinkSync(path);
  const routes = Object.entries(answers).map(([name, answer]) => [
    `/${name}`,
    {
      POST: (request: Request, server: Bun.Server<undefined>) => {
        // The answer may depend on a slow server on the internet.
        server.timeout(request, 0);
        return answered(answer, request);
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
      // The next start removes it.
    }
  });
}

/** Sends a request to the socket; null if nothing answers there. Throws the error that the answer carries. */
export async function askOn<Known extends Requests, Name extends keyof Known & string>(
  unix: string,
  name: Name,
  given: Known[Name][0],
  signal: AbortSignal | null = null,
): Promise<{ answer: Known[Name][1] } | null> {
  if (!(await isAnswered(unix, signal))) return null;
  const body = JSON.stringify(given);
  const response = await fetch(`http://localhost/${name}`, {
    ...{ unix, method: "POST", body, timeout: false, signal },
  });
  // An upgrade that was not completed leaves the former version running.
  if (response.status === 404)
    throw new CommandError(
      "unable",
      `the running service is of another version, which does not know this request; complete the upgrade: ${setupCommand()}`,
    );
  const said = (await response.json()) as { answer: Known[Name][1] } | { code: string; message: string };
  if ("code" in said) throw new CommandError(codeNamed(said.code), said.message);
  return said;
}

async function answered(answer: (given: unknown) => Promise<unknown>, request: Request): Promise<Response> {
  try {
    return Response.json({ answer: await answer(await request.json()) });
  } catch (error) {
    return Response.json({ code: codeOf(error), message: messageOf(error) }, { status: 500 });
  }
}

async function isAnswered(path: string, signal: AbortSignal | null = null): Promise<boolean> {
  if (!existsSync(path)) return false;
  return fetch("http://localhost/", { unix: path, signal }).then(
    (response) => response.ok,
    () => false,
  );
}
