import type { CustomServer, ImportedConfig, Provider, ServerTree } from "../servers/schema.ts";
import type { Status } from "../tunnel/schema.ts";

/** What the HTTP interface asks of the gateway. A refusal is a thrown `GatewayError`. */
export interface Gateway {
  status(): Promise<Status>;
  providers(): { providers: Provider[]; current: Provider };
  use(provider: Provider): void | Promise<void>;
  servers(): { servers: ServerTree; provider: Provider };
  /** Resolves after the handshake with the named server of the current provider. */
  connect(name: string): Promise<void>;
  disconnect(): Promise<{ killSwitch: boolean }>;
  addCustom(server: CustomServer): void | Promise<void>;
  /** Refuses the server that the tunnel uses. */
  removeCustom(name: string): void | Promise<void>;
  /** Returns warnings: what the configuration asks for and the gateway does in its own way. */
  importConfig(config: ImportedConfig): string[] | Promise<string[]>;
  keyPair(): { private_key: string; public_key: string };
  /** Null while the kill switch's promise can be kept, else one line that says why not. */
  health(): Promise<string | null>;
}
