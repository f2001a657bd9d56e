import { settingsFrom } from "../../src/base/settings.ts";
import { runBridge } from "../../src/mqtt/start.ts";
import { MqttStatus } from "../../src/mqtt/status.ts";
import { Home } from "../http/home.ts";
import { FakeBroker } from "./broker.ts";

const PASSWORD_FILE = "/etc/mqtt.password";
export const PASSWORD = "correct horse";
/** Enough on a busy machine. */
const PATIENCE_MS = 30_000;

/** A home whose gateway is shown to Home Assistant; all of it but the machine and the broker is real. */
export class Shown {
  readonly lines: string[] = [];
  /** What clients were told of the connection, one after the other. */
  readonly told: unknown[] = [];
  private readonly stopping = new AbortController();
  private readonly running: Promise<void>;

  private constructor(
    readonly home: Home,
    readonly broker: FakeBroker,
    flags: Parameters<typeof settingsFrom>[0],
  ) {
    home.host.files.set(PASSWORD_FILE, `${PASSWORD}\n`);
    const mqtt = `mqtt://ha@127.0.0.1:${broker.port}`;
    const settings = settingsFrom({ mqtt, mqttPasswordFile: PASSWORD_FILE, ...flags });
    const status = new MqttStatus(settings, { publish: () => this.told.push(status.shown()) });
    const log = (line: string) => void this.lines.push(line);
    this.running = runBridge(
      {
        settings: { ...settings, mqtt: settings.mqtt ?? mqtt },
        gateway: home.parts,
        host: home.host,
        store: home.parts.store,
        status,
        log: { info: log, warn: log },
        hostname: "pi",
        lans: () => home.parts.killSwitch.network.lans.flatMap((lan) => lan.prefixes),
        tunnelTo: (address) => home.parts.httpsClient.ownAddressTo(address),
      },
      this.stopping.signal,
    );
  }

  static async start(
    flags: Parameters<typeof settingsFrom>[0] = {},
    home?: Home,
    broker?: FakeBroker,
    files: Record<string, string> = {},
  ): Promise<Shown> {
    return new Shown(home ?? (await Home.start({}, files)), broker ?? (await FakeBroker.start()), flags);
  }

  /** Lets time go by, until something is true. */
  async until(met: () => boolean): Promise<void> {
    for (const start = performance.now(); !met(); await Bun.sleep(2)) {
      if (performance.now() - start > PATIENCE_MS) throw new Error(`still not so: ${this.lines.join("\n")}`);
      await this.home.pass(100);
    }
  }

  /** Some time goes by, in which all that is sent arrives. */
  async pass(ms: number): Promise<void> {
    const step = ms < 60_000 ? 100 : 1_000;
    for (let past = 0; past < ms; past += step) {
      await this.home.pass(step);
      await Bun.sleep(2);
    }
  }

  /** The bridge alone. */
  async end(): Promise<void> {
    this.stopping.abort();
    await this.until(() => Bun.peek.status(this.running) !== "pending");
  }

  async stop(): Promise<void> {
    await this.end();
    await this.broker.stop();
    await this.home.stop();
  }
}
