import { type Static, Type } from "typebox";
import { Compile } from "typebox/compile";
import { NO_ROLES, type Roles } from "../routing/lan.ts";
import { Provider } from "../servers/schema.ts";
import type { Store } from "../servers/store.ts";

const Connection = Type.Object({
  provider: Provider,
  name: Type.String(),
  /** Milliseconds since 1970. */
  since: Type.Number(),
});
type Connection = Static<typeof Connection>;
const connectionSchema = Compile(Connection);

const rolesSchema = Compile(
  Type.Object({ lan: Type.Array(Type.String()), outside: Type.Array(Type.String()) }),
);

/** WireGuard shakes hands every two minutes, and a memory card wears out. */
const HANDSHAKES_EVERY_MS = 15 * 60_000;

/** What the tunnel remembers over a restart. The kernel is asked first; this only says which server it was. */
export class Memory {
  constructor(private readonly store: Store) {}

  /** Whether the operator wants the kill switch; in doubt yes. */
  killSwitch(): boolean {
    return this.store.read("killswitch") !== "off";
  }

  saveKillSwitch(wanted: boolean): void {
    this.store.write("killswitch", wanted ? "on" : "off");
  }

  connection(): Connection | null {
    return connectionIn(this.store.read("connection") ?? "null");
  }

  saveConnection(connection: Connection | null): void {
    this.store.write("connection", JSON.stringify(connection));
  }

  /** When the last handshake that is known of was completed, in milliseconds since 1970. */
  handshake(): number | null {
    const text = this.store.read("handshake");
    return text === null || !Number.isFinite(Number(text)) ? null : Number(text);
  }

  /** Written rarely. It only explains errors: nothing fails where it cannot be saved. */
  saveHandshake(at: number): void {
    const before = this.handshake();
    // Where the clock was set back, the later date is no longer of use.
    if (before !== null && Math.abs(at - before) < HANDSHAKES_EVERY_MS) return;
    try {
      this.store.write("handshake", String(Math.round(at)));
    } catch {
      // A full disk is told where something is lost.
    }
  }

  /** Which interfaces were the LAN's, and which the uplink: of this machine alone, so no part of a backup. */
  roles(): Roles {
    const value = valueIn(this.store.read("roles") ?? "null");
    return rolesSchema.Check(value) ? value : NO_ROLES;
  }

  saveRoles(roles: Roles): void {
    this.store.write("roles", JSON.stringify(roles));
  }

  /** The last address that a server's name resolved to. */
  address(name: string): string | null {
    return this.store.read(`address ${name}`);
  }

  saveAddress(name: string, address: string): void {
    if (this.address(name) !== address) this.store.write(`address ${name}`, address);
  }
}

/** Null where the text is none. */
export function connectionIn(text: string): Connection | null {
  const value = valueIn(text);
  return connectionSchema.Check(value) ? value : null;
}

function valueIn(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    return null;
  }
}
