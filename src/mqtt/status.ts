import type { Bus } from "../base/bus.ts";
import type { Settings } from "../base/settings.ts";
import type { ShownBroker } from "../http/settings-schema.ts";
import { brokerIn } from "./broker.ts";

/** The state of the connection to Home Assistant's broker, as the bridge reports it. */
export class MqttStatus {
  private state: Pick<ShownBroker, "connected" | "error"> = { connected: false, error: null };

  constructor(
    private readonly settings: Pick<Settings, "mqtt" | "mqttCommands">,
    private readonly events: Pick<Bus<{ broker_update: null }>, "publish">,
  ) {}

  /** `error` is why the connection has ended, or there is none; null if it is there. */
  is(error: string | null): void {
    const next = { connected: error === null, error };
    if (Bun.deepEquals(next, this.state)) return;
    this.state = next;
    this.events.publish({ type: "broker_update", payload: null });
  }

  /** Without the user, who is half of the credentials; null without a broker. */
  shown(): ShownBroker | null {
    const { mqtt, mqttCommands: commands } = this.settings;
    if (mqtt === null) return null;
    const { host, port, tls } = brokerIn(mqtt);
    return {
      broker: host.includes(":") ? `[${host}]:${port}` : `${host}:${port}`,
      tls,
      commands,
      ...this.state,
    };
  }
}
