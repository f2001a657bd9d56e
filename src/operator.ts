import { existsSync, unlinkSync } from "node:fs";
import { join } from "node:path";
import type { Contents } from "./backup/contents.ts";
import type { LiveBackup } from "./backup/live.ts";
import type { Restored } from "./backup/restore.ts";
import { GatewayError, messageOf } from "./errors.ts";
import type { Controller } from "./tunnel/controller.ts";
import type { Inspection } from "./tunnel/inspection.ts";

interface Service {
  controller: Controller;
  inspection: () => Promise<Inspection>;
  backup: LiveBackup;
}

/**
 * The operator's way to the running service: a socket in the state directory that only root may open. The kill
 * switch comes down here and nowhere else, and backups with their keys go this way alone, so that no browser and no
 * LAN client can reach either.
 */
export async function answerOperator(
  stateDir: string,
  { controller, inspection, backup }: Service,
): Promise<{ stop(): void }> {
  const path = socketIn(stateDir);
  if (await isAnswered(path)) {
    throw new GatewayError(
      "unable",
      `another portcullis already serves ${stateDir}; stop it first, or give --state-dir`,
    );
  }
  // What a killed service left behind.
  if (existsSync(path)) unlinkSync(path);
  const server = Bun.serve({
    unix: path,
    routes: {
      "/": () => new Response("portcullis"),
      "/killswitch": async () => Response.json(await inspection()),
      "/killswitch/on": { POST: () => answer(() => controller.setKillSwitch(true)) },
      "/killswitch/off": { POST: () => answer(() => controller.setKillSwitch(false)) },
      "/backup": () => answer(async () => backup.take()),
      "/restore": { POST: (request) => answer(() => restoredBy(backup, request)) },
    },
  });
  return {
    stop: () => {
      void server.stop(true);
      if (existsSync(path)) unlinkSync(path);
    },
  };
}

/** Asks the running service; false where none runs. Throws what the service says. */
export async function askService(stateDir: string, killSwitch: "on" | "off"): Promise<boolean> {
  const path = socketIn(stateDir);
  if (!(await isAnswered(path))) return false;
  const response = await fetch(`http://localhost/killswitch/${killSwitch}`, { unix: path, method: "POST" });
  if (!response.ok) throw new GatewayError("unable", await response.text());
  return true;
}

/** What the running service finds; null where none runs. */
export async function askForInspection(stateDir: string): Promise<Inspection | null> {
  const path = socketIn(stateDir);
  if (!(await isAnswered(path))) return null;
  const response = await fetch("http://localhost/killswitch", { unix: path });
  if (!response.ok) throw new GatewayError("unable", await response.text());
  return (await response.json()) as Inspection;
}

/** What the running service holds; null where none runs. */
export async function askForBackup(stateDir: string): Promise<Contents | null> {
  const path = socketIn(stateDir);
  if (!(await isAnswered(path))) return null;
  const response = await fetch("http://localhost/backup", { unix: path });
  if (!response.ok) throw new GatewayError("unable", await response.text());
  return (await response.json()) as Contents;
}

/** Has the running service take a backup up; null where none runs. Throws what the service says. */
export async function askToRestore(
  stateDir: string,
  contents: Contents,
  replace: boolean,
): Promise<Restored | null> {
  const path = socketIn(stateDir);
  if (!(await isAnswered(path))) return null;
  const body = JSON.stringify({ contents, replace });
  const response = await fetch("http://localhost/restore", { unix: path, method: "POST", body });
  if (!response.ok) throw new GatewayError("unable", await response.text());
  return (await response.json()) as Restored;
}

async function restoredBy(backup: LiveBackup, request: Request): Promise<Restored> {
  const { contents, replace } = (await request.json()) as { contents: unknown; replace: boolean };
  return backup.restore(contents, replace);
}

async function isAnswered(path: string): Promise<boolean> {
  if (!existsSync(path)) return false;
  return fetch("http://localhost/", { unix: path }).then(
    (response) => response.ok,
    () => false,
  );
}

async function answer(work: () => Promise<unknown>): Promise<Response> {
  try {
    return Response.json((await work()) ?? "done");
  } catch (error) {
    return new Response(messageOf(error), { status: 500 });
  }
}

function socketIn(stateDir: string): string {
  return join(stateDir, "operator.sock");
}
