import { type Static, Type } from "typebox";
import { Compile } from "typebox/compile";
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
  try {
    const value: unknown = JSON.parse(text);
    return connectionSchema.Check(value) ? value : null;
  } catch {
    return null;
  }
}
