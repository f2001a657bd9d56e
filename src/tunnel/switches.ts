import { SavedChoice, type Texts } from "../base/saved.ts";
import type { Settings } from "../base/settings.ts";

type Name = "failover" | "autoconnect";

/** What holds until a person chooses otherwise over the interface. */
const AS_FLAG = "as its flag says";

/** A switch that root sets by a flag, and others over the interface: what was chosen there holds. */
function choice(key: Name, what: string): SavedChoice {
  return new SavedChoice(key, what, AS_FLAG, (text) => ["on", "off", AS_FLAG].includes(text));
}

export const FAILOVER = choice("failover", "failover");
export const AUTOCONNECT = choice("autoconnect", "connection after a restart");
const CHOICES = { failover: FAILOVER, autoconnect: AUTOCONNECT } as const;

/** What the tunnels do by themselves. */
export class Switches {
  constructor(
    private readonly flags: Pick<Settings, Name>,
    private readonly store: Texts,
  ) {}

  /** Whether a server that stays dead is replaced by another one of its place. */
  get failover(): boolean {
    return this.isOn("failover");
  }

  /** Whether the next start connects to the last server again. */
  get autoconnect(): boolean {
    return this.isOn("autoconnect");
  }

  /** Null is what root's flag says. */
  set(name: Name, on: boolean | null): void {
    CHOICES[name].write(this.store, on === null ? AS_FLAG : on ? "on" : "off");
  }

  private isOn(name: Name): boolean {
    const chosen = CHOICES[name].read(this.store);
    return chosen === AS_FLAG ? this.flags[name] : chosen === "on";
  }
}
