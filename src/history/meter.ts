import { carriedBy, type State } from "../tunnel/state.ts";
import type { Carried } from "./ring.ts";

export interface Metered {
  name: string;
  controller: {
    readonly state: State;
    /** What the present session has carried; zeros if that cannot be read. */
    carried(): Promise<{ rx_bytes: number; tx_bytes: number }>;
  };
}

/** What tunnels carry, whose counters begin again with each session. */
export class Meter {
  /** What the sessions' interfaces had carried when they were last read. */
  private readonly last = new Map<string, Carried & { link: string }>();

  /** What the tunnel has carried since it was last read. */
  async read({ name, controller }: Metered): Promise<Carried> {
    const link = carriedBy(controller.state)?.link;
    if (link === undefined) {
      this.last.delete(name);
      return NOTHING;
    }
    const { rx_bytes: rx, tx_bytes: tx } = await controller.carried();
    // Meanwhile another session may have come, or the interface may have gone.
    if (carriedBy(controller.state)?.link !== link || (rx === 0 && tx === 0)) return NOTHING;
    const last = this.last.get(name);
    this.last.set(name, { link, rx, tx });
    const isSame = last !== undefined && last.link === link && rx >= last.rx && tx >= last.tx;
    return isSame ? { rx: rx - last.rx, tx: tx - last.tx } : { rx, tx };
  }

  forgetAllBut(names: ReadonlySet<string>): void {
    for (const name of this.last.keys()) if (!names.has(name)) this.last.delete(name);
  }
}

const NOTHING: Carried = { rx: 0, tx: 0 };
