import type { Bus } from "../base/bus.ts";
import type { Log } from "../base/log.ts";
import type { Devices } from "../devices/devices.ts";
import type { Tunnels } from "../tunnel/tunnels.ts";
import type { ActiveForward } from "./active-forward.ts";
import type { Forward } from "./schema.ts";

interface Deps {
  devices: Pick<Devices, "exitOf" | "rowsOf">;
  tunnels: Pick<Tunnels, "all">;
  events: Pick<Bus<{ forward_update: Forward }>, "publish">;
  log: Pick<Log, "info">;
  /** Whether the forward was not removed or replaced meanwhile. */
  isHeld: (held: ActiveForward) => boolean;
}

/** Forwards as clients see them. */
export class Rows {
  constructor(private readonly deps: Deps) {}

  async of(all: readonly ActiveForward[]): Promise<Forward[]> {
    const devices = await this.deps.devices.rowsOf([...new Set(all.map(({ device }) => device))]);
    const names = this.deps.tunnels.all().map(({ name }) => name);
    return all.map((held) => {
      const exit = this.deps.devices.exitOf(held.device);
      return rowOf(held, {
        name: devices.find(({ id }) => id === held.device)?.name ?? "",
        tunnel: names.includes(exit) ? exit : null,
      });
    });
  }

  /** Publishes the rows that have changed since they were last published. */
  async tell(all: readonly ActiveForward[]): Promise<void> {
    if (all.length === 0) return;
    const rows = await this.of(all);
    for (const [at, held] of all.entries()) this.tellOf(held, rows[at]);
  }

  private tellOf(held: ActiveForward, row: Forward | undefined): void {
    if (row === undefined || !this.deps.isHeld(held) || Bun.deepEquals(row, held.told)) return;
    const { name, protocol, port, external, tunnel } = row;
    if (external !== null && external !== held.told?.external)
      this.deps.log.info(
        `port ${external} (${protocol}) at ${tunnel} leads to ${name || held.device}:${port}`,
      );
    held.told = row;
    this.deps.events.publish({ type: "forward_update", payload: row });
  }
}

function rowOf(
  { device, protocol, port, fixed, until, keeper }: ActiveForward,
  { name, tunnel }: { name: string; tunnel: string | null },
): Forward {
  const { opened, asked, isOpen, trouble } = keeper;
  return {
    ...{ device, name, protocol, port, fixed, tunnel },
    external: isOpen ? (opened?.port.external ?? null) : null,
    address: isOpen ? (opened?.port.address ?? null) : null,
    opener: (opened ?? asked)?.opener.kind ?? null,
    asked_by: until === null ? "operator" : "device",
    state: isOpen ? "open" : trouble === null || asked !== null ? "opening" : "closed",
    error: isOpen ? null : trouble,
    expires_at: until?.date ?? null,
  };
}
