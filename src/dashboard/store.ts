import { useLayoutEffect, useReducer, useRef } from "preact/hooks";
import type { Static } from "typebox";
import type { Access } from "../access/schema.ts";
import type { Checks } from "../checks/schema.ts";
import type { DeviceList, OwnDevice } from "../devices/schema.ts";
import type { ForwardList } from "../forwards/schema.ts";
import type {
  KillSwitchLayers,
  Network,
  RoundTripList,
  ServerCounts,
  Servers,
  TunnelRows,
} from "../http/schema.ts";
import type { JournalPage } from "../journal/schema.ts";
import type { ScheduleList } from "../schedules/schema.ts";
import type { FavouriteList } from "../servers/schema.ts";
import type { Status } from "../tunnel/schema.ts";
import type { Connection } from "./connection.ts";

/** What `GET /api/<resource>` answers. A view that needs another one adds a line, and one in `STALE_AFTER`. */
export interface Answers {
  access: Access;
  status: Status;
  tunnels: Static<typeof TunnelRows>;
  devices: DeviceList;
  "devices/self": OwnDevice;
  forwards: ForwardList;
  schedules: ScheduleList;
  events: JournalPage;
  servers: Static<typeof Servers>;
  "servers/counts": ServerCounts;
  checks: Checks;
  favourites: FavouriteList;
  killswitch: KillSwitchLayers;
  network: Network;
  "round-trips": RoundTripList;
}
export type Resource = keyof Answers;

/** An answer that is awaited, known, or could not be had. */
export type Loaded<T> =
  | { state: "loading" }
  | { state: "ready"; value: T }
  /** `error` is a sentence for people. */
  | { state: "failed"; error: string };

/** All that the page knows. It is never changed, only replaced. */
export interface State {
  readonly connection: Connection;
  /** Whether the gateway has refused something for want of a token. */
  readonly needsToken: boolean;
  readonly answers: { readonly [Name in Resource]?: Loaded<Answers[Name]> };
}

let state: State = { connection: { name: "starting" }, needsToken: false, answers: {} };
const listeners = new Set<() => void>();

export function getState(): State {
  return state;
}

export function setConnection(connection: Connection): void {
  replace({ ...state, connection });
}

export function setNeedsToken(needsToken: boolean): void {
  replace({ ...state, needsToken });
}

export function setAnswer<Name extends Resource>(
  name: Name,
  answer: Loaded<Answers[Name]> | undefined,
): void {
  replace({ ...state, answers: { ...state.answers, [name]: answer } });
}

/** Calls back after each change, until the returned function is called. */
export function subscribe(listener: () => void): () => void {
  listeners.add(listener);
  return () => listeners.delete(listener);
}

/** A part of the state; the component is drawn again when this part is another object or value. */
export function useStore<T>(select: (state: State) => T): T {
  const [, redraw] = useReducer((count: number) => count + 1, 0);
  const value = select(state);
  const shown = useRef({ select, value });
  shown.current = { select, value };
  useLayoutEffect(() => {
    const look = () => {
      if (!Object.is(shown.current.select(state), shown.current.value)) redraw(undefined);
    };
    // It may have changed since it was drawn.
    look();
    return subscribe(look);
  }, []);
  return value;
}

function replace(next: State): void {
  state = next;
  for (const listener of [...listeners]) listener();
}
