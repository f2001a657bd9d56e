import { LAN } from "../../../src/sandbox/topology.ts";
import type { Gateway, GatewayOptions, Lab } from "../tools/lab.ts";
import { type Called, Computer } from "./computer.ts";
import type { ServerNumber, Side, Span } from "./side.ts";

/** The gateway, as on a real machine: the service lives in the namespace that it serves. */
export class Portcullis implements Side {
  readonly name = "portcullis";

  private constructor(
    readonly lab: Lab,
    readonly computer: Computer,
    readonly gateway: Gateway,
  ) {}

  /** `program` is what to start, this repository's main file by default. */
  static async start(lab: Lab, how: Pick<GatewayOptions, "program" | "starter"> = {}): Promise<Portcullis> {
    const flags = ["--host", "::", "--log-level", "warn"];
    const gateway = await lab.startGateway({ flags, ...how });
    const side = new Portcullis(lab, await Computer.start(lab.namespaces.client), gateway);
    for (const { importBody } of lab.sandbox.servers) await side.call("POST", "/api/import", importBody);
    await side.call("POST", "/api/provider/imported");
    return side;
  }

  connect(server: ServerNumber): Promise<Span> {
    return this.call("POST", "/api/connect", { server: this.lab.sandbox.servers[server].importBody.name });
  }

  switch(to: ServerNumber): Promise<Span> {
    return this.connect(to);
  }

  disconnect(): Promise<Span> {
    return this.call("POST", "/api/disconnect");
  }

  url(path: string): string {
    return `http://${LAN.gateway4}:${this.gateway.port}${path}`;
  }

  /** Sends an order from the LAN; throws unless it is obeyed. */
  async call(method: string, path: string, body?: unknown): Promise<Span> {
    const called: Called = await this.computer.call(method, this.url(path), body);
    if (called.status !== 200) throw new Error(`${method} ${path}: ${called.status} ${called.text}`);
    return { startedAt: called.sentAt, endedAt: called.answeredAt };
  }
}
