import { Kept } from "./kept.ts";
import { NONE, type Possible } from "./possible.ts";
import { addressOf, MACS, type Request, type World } from "./world.ts";

/** The external port of each forward. */
type Ports = ReadonlyMap<string, string>;

interface Row {
  device: string;
  protocol: string;
  port: number;
  fixed: number | null;
  external: number | null;
  state: "open" | "opening" | "closed";
}

const ONE = { protocol: "tcp", port: "6881" } as const;

/** The forward of a device that people ask for. */
export function forwardOf(device: string): Record<string, string> {
  return { device, ...ONE };
}

/** What is true of forwarded ports. */
export class ForwardInvariants {
  readonly kept: Kept<Ports>;
  /** As the firewall's table had them when it was last looked at. */
  private inKernel: Ports = new Map();

  constructor(private readonly world: World) {
    this.kept = new Kept(() => this.saved);
  }

  /** No port of the internet leads to a device unless the database has that. */
  openedUnsaved(table: string): string[] {
    const before = this.inKernel;
    this.inKernel = portsIn(table);
    return [...this.inKernel].flatMap(([device, port]) => {
      if (before.get(device) === port) return [];
      const saved = this.kept.possible.map((ports) => ports.get(device) ?? NONE);
      return saved.includes(port) ? [] : [`port ${port} leads to ${device}, and ${saved[0]} is saved`];
    });
  }

  /** Kernel, database and interface agree, on what was asked for. */
  async faultsAtRest(table: string, possible: Possible): Promise<string[]> {
    const { forwards } = (await this.world.read("/api/forwards")) as { forwards: Row[] };
    const [saved, inKernel] = [this.saved, portsIn(table)];
    return MACS.flatMap((device) => {
      const row = forwards.find((each) => each.device === device);
      const [shown, open] = [row?.fixed, row?.external].map((port) => `${port ?? NONE}`);
      const [keeps, has] = [saved, inKernel].map((ports) => ports.get(device) ?? NONE);
      const asked = possible((request) => givenBy(request, device), NONE);
      return [
        ...(shown === keeps ? [] : [`${device}: the interface says port ${shown}, and ${keeps} is saved`]),
        ...(open === has ? [] : [`${device}: port ${open} is said to be open, and the kernel has ${has}`]),
        ...(asked.has(shown ?? NONE) ? [] : [`${device} has port ${shown}, and was given ${[...asked]}`]),
      ];
    });
  }

  private get saved(): Ports {
    const rows = JSON.parse(this.world.parts.store.read("forwards") ?? "[]") as Row[];
    return new Map(rows.map(({ device, fixed }) => [device, `${fixed}`]));
  }
}

function givenBy({ method, path, params, body }: Request, device: string): string | undefined {
  if (!path.startsWith("/api/forwards/") || params?.device !== device) return undefined;
  return method === "delete" ? NONE : `${(body as { external: number }).external}`;
}

function portsIn(table: string): Ports {
  const rules = [...table.matchAll(/ dport (\d+) dnat ip to ([\d.]+):\d+ /g)];
  return new Map(
    MACS.flatMap((mac) => {
      const rule = rules.find(([, , to]) => to === addressOf(mac));
      return rule === undefined ? [] : [[mac, rule[1] ?? ""] as const];
    }),
  );
}
