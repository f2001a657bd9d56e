import { useState } from "preact/hooks";
import type { Provider } from "../../../servers/schema.ts";
import type { TunnelRow } from "../../../tunnel/schema.ts";
import { type Action, useAction } from "../../action.ts";
import { knownOf, useAnswer } from "../../answers.ts";
import { change } from "../../api.ts";
import { withoutField } from "../../format.ts";

/** A server, or a place, and the server through which it is reached, if any. */
export interface ServerChoice {
  provider: Provider;
  server: string;
  via?: string;
}

/** Leads the tunnel `main` somewhere. The outcome is shown in the row that was clicked last. */
export interface Connecting {
  action: Action;
  /** The row that was clicked last. */
  at: string | null;
  main: TunnelRow | null;
  /** The server or place that was chosen to reach others through; null to reach them directly. */
  entry: string | null;
  connect: (at: string, to: ServerChoice) => Promise<void>;
}

export function useConnecting(): Connecting {
  const action = useAction();
  const [at, setAt] = useState<string | null>(null);
  const tunnels = knownOf(useAnswer("tunnels"))?.tunnels;
  const connect: Connecting["connect"] = async (row, to) => {
    setAt(row);
    await plainly(change("PUT", "tunnels/main", to));
  };
  return { action, at, main: tunnels?.find(({ name }) => name === "main") ?? null, entry: null, connect };
}

/** Whether `main` is connected to this server, through that entry or directly. */
export function isConnected({ main }: Connecting, provider: Provider, server: string, via?: string): boolean {
  return (
    main?.state === "connected" && main.provider === provider && main.server === server && main.via === via
  );
}

/** A row says what it is about, so its errors need not name the field of the request. */
export async function plainly(work: Promise<unknown>): Promise<void> {
  try {
    await work;
  } catch (error) {
    throw new Error(withoutField(error instanceof Error ? error.message : String(error)));
  }
}
