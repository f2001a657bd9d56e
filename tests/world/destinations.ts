import { Kept } from "./kept.ts";
import type { Possible } from "./possible.ts";
import { MACS, type Request, type World } from "./world.ts";

/** Where they leave; no rule is the exit of the device. */
type Exits = ReadonlyMap<string, string>;

interface Row {
  id: string;
  prefixes: readonly string[];
  devices: readonly string[];
  exit: string;
  open?: boolean;
}

export const PREFIXES = ["203.0.113.0/24", "198.51.100.0/24"] as const;
const ALL = "all";
const NO_RULE = "its own exit";

/** What is true of the rules for destinations. */
export class DestinationInvariants {
  readonly kept: Kept<Exits>;
  /** As the firewall's table had them when it was last looked at. */
  private inKernel: Exits = new Map();

  constructor(private readonly world: World) {
    this.kept = new Kept(() => this.saved(this.world.askedBeforeWithdrawal));
  }

  /** No packet leaves by a rule that the database does not have, nor past one that blocks it. */
  openedUnsaved(table: string): string[] {
    const before = this.inKernel;
    this.inKernel = exitsIn(table);
    return eachWay((mac, prefix) => {
      const [had, has] = [before, this.inKernel].map((exits) => exitOf(exits, mac, prefix));
      // What was direct and no longer is counts as closed.
      if (has === had || has === "blocked" || had === "direct") return [];
      const saved = this.kept.possible.map((exits) => exitOf(exits, mac, prefix));
      return saved.includes(has ?? "")
        ? []
        : [`${mac} reaches ${prefix} through ${has}, and ${saved[0]} is saved`];
    });
  }

  /** Kernel, database and interface agree, on what was asked for. */
  async faultsAtRest(table: string, possible: Possible): Promise<string[]> {
    const { destinations } = (await this.world.read("/api/destinations")) as { destinations: Row[] };
    const [shown, saved, inKernel] = [exitsOf(destinations), this.saved(), exitsIn(table)];
    // A tunnel that is down is none to the kernel.
    const open = exitsOf(destinations.map((row) => ({ ...row, exit: row.open ? row.exit : "blocked" })));
    return keys().flatMap((key) => {
      const [says, keeps, has] = [shown, saved, inKernel].map((exits) => exits.get(key) ?? NO_RULE);
      const given = possible((request, held) => givenBy(request, key, held), NO_RULE);
      return [
        ...(says === keeps ? [] : [`${key}: the interface says ${says}, and ${keeps} is saved`]),
        ...([says, open.get(key)].includes(has)
          ? []
          : [`${key}: the interface says ${says}, and the kernel has ${has}`]),
        ...(given.has(says ?? "") ? [] : [`${key} leads to ${says}, and was given ${[...given]}`]),
      ];
    });
  }

  private saved(asked: readonly Request[] = []): Exits {
    const { store } = this.world.parts;
    const rows = JSON.parse(store.read("destinations") ?? "[]") as Row[];
    const isAllowed = store.read("direct") === "on";
    // Until the withdrawal is answered, the kernel may still be given a rule that was permitted before.
    const mayBeDirect = (row: Row) => isAllowed || asked.some((request) => leadsDirectly(request, row));
    return exitsOf(
      rows.map((row) => (row.exit === "direct" && !mayBeDirect(row) ? { ...row, exit: "blocked" } : row)),
    );
  }
}

function leadsDirectly({ path, body, rule }: Request, row: Row): boolean {
  if (!path.startsWith("/api/destinations") || rule === undefined) return false;
  return (body as Row | undefined)?.exit === "direct" && Bun.deepEquals(keysOf(rule), keysOf(row));
}

/** The exit that a request gives a destination; undefined if it leaves that as it is. */
function givenBy({ method, path, rule, body }: Request, key: string, held: string): string | undefined {
  if (method === "operator")
    return held === "direct" && !(body as { isAllowed: boolean }).isAllowed ? "blocked" : undefined;
  if (!path.startsWith("/api/destinations") || rule === undefined || !keysOf(rule).includes(key))
    return undefined;
  return method === "delete" ? NO_RULE : (body as Row).exit;
}

function exitOf(exits: Exits, mac: string, prefix: string): string {
  return exits.get(`${mac} ${prefix}`) ?? exits.get(`${ALL} ${prefix}`) ?? NO_RULE;
}

function exitsOf(rows: readonly Row[]): Exits {
  return new Map(rows.flatMap((row) => keysOf(row).map((key) => [key, row.exit])));
}

function keysOf({ devices, prefixes }: Pick<Row, "devices" | "prefixes">): string[] {
  const owners = devices.length === 0 ? [ALL] : devices;
  return owners.flatMap((owner) => prefixes.map((prefix) => `${owner} ${prefix}`));
}

function keys(): string[] {
  return keysOf({ devices: [...MACS, ALL], prefixes: PREFIXES });
}

function eachWay(work: (mac: string, prefix: string) => string[]): string[] {
  return MACS.flatMap((mac) => PREFIXES.flatMap((prefix) => work(mac, prefix)));
}

const RULE =
  /^ +(?:ether saddr (\{[^}]*\}|\S+) )?ip daddr (?:& \S+ )?(\{[^}]*\}|\S+) goto (?:leave_by|unblocked_by|exit)_(\w+) /gm;

function exitsIn(table: string): Exits {
  const members = (text: string) =>
    text
      .replace(/[{}]/g, "")
      .split(",")
      .map((each) => each.trim());
  const rows = [...table.matchAll(RULE)].map(([, owners, to = "", exit = ""]) => ({
    devices: owners === undefined ? [] : members(owners),
    // Several of one length are looked up by their first address.
    prefixes: members(to).map((each) => PREFIXES.find((prefix) => prefix.startsWith(each)) ?? each),
    exit,
  }));
  return exitsOf(rows.map((row) => ({ ...row, id: "" })));
}
