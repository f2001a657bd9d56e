import { type Static, Type } from "typebox";
import { objectOf } from "../base/object.ts";
import { carriedBy, type State } from "../tunnel/state.ts";
import type { Carried } from "./ring.ts";

export interface Metered {
  name: string;
  controller: {
    readonly state: State;
    /** The traffic of the present session; zeros if it cannot be read. */
    carried(): Promise<{ rx_bytes: number; tx_bytes: number }>;
  };
}

/** The figures of a session's interface at some reading. */
export const Read = objectOf({ link: Type.String(), rx: Type.Number(), tx: Type.Number() });
type Read = Static<typeof Read>;

/** The traffic of tunnels, whose counters start again with each session. */
export class Meter {
  private readonly last = new Map<string, Read>();

  /** The last reading of each tunnel. */
  get readings(): Record<string, Read> {
    return Object.fromEntries(this.last);
  }

  /** Goes on from the readings of a former run of the service. */
  goOn(readings: Readonly<Record<string, Read>>): void {
    for (const [name, read] of Object.entries(readings)) this.last.set(name, read);
  }

  /** The traffic of the tunnel since the last reading. */
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
