import type { KillSwitch } from "./killswitch.ts";
import { allHold, faultIn, type Inspection, type Layers, type Part } from "./report.ts";

interface Deps {
  killSwitch: KillSwitch;
  /** Why the links and routes of `main` may differ from what its state requires, or null. */
  unsettled: () => string | null;
}

/** Either layer alone blocks all traffic outside the tunnels. */
interface FoundLayer {
  name: keyof Layers;
  holds: boolean;
  parts: Part[];
}

export interface FoundLayers {
  layers: FoundLayer[];
  /** How many devices may leave outside the tunnels. */
  direct: number;
  /** Why the last change did not reach the kernel, or null. */
  trouble: string | null;
}

/** Whether the gateway can be relied on now: the kill switch in the kernel, and the last change of it and of `main`. */
export class Protection {
  constructor(private readonly deps: Deps) {}

  /** One line that says why the kill switch cannot be relied on now, or null. */
  async fault(): Promise<string | null> {
    const { killSwitch } = this.deps;
    const { trouble } = this;
    if (trouble !== null) return `the network could not be configured: ${trouble}`;
    if (!killSwitch.isWanted) return null;
    return faultIn(await killSwitch.inspection(this.trouble), killSwitch.foreignRule.message);
  }

  /** Each part of the kill switch, read from the kernel now, whatever its events say. */
  inspection(): Promise<Inspection> {
    const { killSwitch } = this.deps;
    killSwitch.changed();
    return killSwitch.inspection(this.trouble);
  }

  /** The kill switch's layers as the kernel has them. */
  async layers(): Promise<FoundLayers> {
    const { firewall, routing, direct } = await this.deps.killSwitch.layers();
    const layers = [layerOf("firewall", firewall), layerOf("routing", routing)];
    return { layers, direct, trouble: this.trouble };
  }

  private get trouble(): string | null {
    return this.deps.killSwitch.fault ?? this.deps.unsettled();
  }
}

function layerOf(name: keyof Layers, parts: readonly Part[]): FoundLayer {
  return { name, holds: allHold(parts), parts: [...parts] };
}
