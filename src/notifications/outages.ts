import type { Host } from "../system/host.ts";
import { isUnanswered, type State } from "../tunnel/state.ts";
import type { NotifiedEvent, Outage } from "./event.ts";

/** Shorter outages are not reported, because many servers are back at once. */
const TOLD_AFTER_MS = 60_000;

interface Open {
  outage: Outage;
  /** A time of the monotonic clock; null if it began before this service started. */
  since: number | null;
  isTold: boolean;
}

interface Deps {
  clock: Pick<Host, "now" | "monotonic" | "sleep">;
  tell: (event: NotifiedEvent) => void;
}

/** Turns the tunnels' changes of state into outages. */
export class Outages {
  private readonly open: Map<string, Open>;

  /** `kept` are the open outages of the previous service. */
  constructor(
    private readonly deps: Deps,
    kept: readonly Outage[] = [],
  ) {
    this.open = new Map(kept.map((outage) => [outage.tunnel, { outage, since: null, isTold: true }]));
  }

  /** The outages that were reported and are not over. */
  get kept(): Outage[] {
    return [...this.open.values()].filter(({ isTold }) => isTold).map(({ outage }) => outage);
  }

  see(tunnel: string, state: State, error: string | null): void {
    const open = this.open.get(tunnel);
    if (isDown(state)) {
      const begun = open ?? this.begin(tunnel, state, error);
      // It took a while to find out.
      if (isUnanswered(state)) this.told(begun);
    } else if (open !== undefined) {
      this.end(open, isUp(state) ? "connected" : "disconnected");
    }
  }

  private begin(tunnel: string, state: State, reason: string | null): Open {
    const { clock } = this.deps;
    const from = new Date(clock.now()).toISOString();
    const open: Open = {
      outage: { tunnel, from, to: null, end: null, reason, ...(isUnanswered(state) && { unanswered: true }) },
      since: clock.monotonic(),
      isTold: false,
    };
    this.open.set(tunnel, open);
    void clock.sleep(TOLD_AFTER_MS).then(() => {
      if (this.open.get(tunnel) === open) this.told(open);
    });
    return open;
  }

  private told(open: Open): void {
    if (open.isTold) return;
    open.isTold = true;
    this.deps.tell({ type: "outage", payload: open.outage });
  }

  private end({ outage, since, isTold }: Open, end: Outage["end"]): void {
    const { clock, tell } = this.deps;
    this.open.delete(outage.tunnel);
    if (!isTold) return;
    const now = clock.now();
    // The date may have been set meanwhile.
    const from = since === null ? outage.from : new Date(now - (clock.monotonic() - since)).toISOString();
    tell({ type: "outage", payload: { ...outage, from, to: new Date(now).toISOString(), end } });
  }
}

/** While a dial is in progress, the state before it counts. */
function isDown(state: State): boolean {
  const lasting = state.name === "connecting" ? state.former : state;
  return lasting !== null && (lasting.name === "reconnecting" || isUnanswered(lasting));
}

function isUp(state: State): boolean {
  return (state.name === "connecting" ? state.former : state)?.name === "connected";
}
