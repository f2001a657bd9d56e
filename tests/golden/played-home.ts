import { spyOn } from "bun:test";
import type { Mac } from "../../src/base/mac.ts";
import { nextTurn } from "../../src/base/queue.ts";
import { settingsFrom } from "../../src/base/settings.ts";
import { runBridge } from "../../src/mqtt/start.ts";
import { MqttStatus } from "../../src/mqtt/status.ts";
import { formatCode } from "../../src/remote/home-code.ts";
import { cidr } from "../fake/address.ts";
import type { Home } from "../http/home.ts";
import { SecureHome } from "../http/secure-home.ts";
import { type Listener, listenTo } from "../http/socket.ts";
import type { Answer } from "../http/wire.ts";
import { FakeBroker } from "../mqtt/broker.ts";
import { PRESHARED, PRIVATE } from "../servers/example.ts";

const LAPTOP = "02:00:00:00:00:10" as Mac;
const TV = "02:00:00:00:00:20" as Mac;
const CAMERA = "02:00:00:00:00:30" as Mac;
const CONSOLE = "02:00:00:00:00:40" as Mac;
const MINUTE_MS = 60_000;
const STEP_MS = 1_000;
/** Of a home whose gateway calls this one. */
const PARENTS_CODE = formatCode({
  ...{ id: "0123456789abcdef", isAnswer: false, key: "hSDwCYkwp1R0i33ctD73Wg2/Og0mOBr066SpjqqbTmo=" },
  ...{ name: "parents", endpoint: null, prefixes: [cidr("192.168.66.0/24"), cidr("fd66::/64")] },
  ...{ exit: null, exitKey: null },
});
const PHONE_KEY = "HIgo9xNzJMWLKASShiTqIybxZ0U3wGLiUeJ1PKf8ykw=";
const NARROW_KEY = "kV2qCLqPc1QbL1c3ycUAiYwnDFgYhDjAvRCFGoC7gjo=";
const OFFICE_KEY = "dQVTvAzmpyzcdBcR1xBGZDQUkRbSwZrF6TQF5iIfBTE=";

const NARROW = {
  ...{ name: "narrow", endpoint: "192.0.2.9:51820", address: "10.64.0.9/32", dns: "10.64.0.1" },
  ...{
    public_key: NARROW_KEY,
    private_key: PRIVATE,
    preshared_key: PRESHARED,
    location: "Zürich, Switzerland",
  },
};
const CONFIG = `[Interface]
PrivateKey = ${PRIVATE}
Address = 10.65.0.3/32, fd65::3/128
DNS = 10.65.0.1, example.net
[Peer]
PublicKey = ${OFFICE_KEY}
AllowedIPs = 0.0.0.0/0, ::/0
Endpoint = vpn.example:51820
`;

type Step = readonly [method: string, path: string, body?: object];

/** What people do to it, in this order. Each step is answered with 200. */
const STEPS: readonly Step[] = [
  ["PUT", "/api/settings", { time_zone: "Europe/Stockholm" }],
  ["POST", "/api/custom/add", NARROW],
  ["POST", "/api/import", { name: "office", config: CONFIG }],
  ["POST", "/api/connect", { server: "se-1" }],
  [
    "PUT",
    "/api/tunnels/amsterdam",
    { targets: [{ provider: "custom", server: "narrow" }], back_after_minutes: 5 },
  ],
  ["PUT", `/api/devices/${LAPTOP}`, { name: "Laptop" }],
  ["PUT", `/api/devices/${TV}`, { name: "TV", exit: "amsterdam", rate: { down: 20, up: 5 }, icon: "tv" }],
  ["PUT", `/api/devices/${CAMERA}`, { name: "Camera", exit: "blocked" }],
  [
    "PUT",
    `/api/devices/${CONSOLE}`,
    { name: "Console", exit: ["amsterdam", "main", "blocked"], quota: { megabytes: 500, every: "day" } },
  ],
  ["PUT", "/api/shared-rate", { rate: { down: 50, up: null } }],
  ["PUT", "/api/shared-quota", { quota: { megabytes: 20_000, every: "month", at_end: "told" } }],
  [
    "POST",
    "/api/destinations",
    { names: ["tv.example", "*.cdn.example"], exit: "amsterdam", devices: [TV], note: "the TV's" },
  ],
  ["POST", "/api/destinations", { prefixes: ["203.0.113.0/24", "2001:db8::/32"], exit: "blocked" }],
  [
    "PUT",
    "/api/dns/lists",
    {
      lists: [{ url: "https://lists.example/hosts", devices: [TV] }],
      exceptions: ["good.example"],
      block_doh: true,
    },
  ],
  [
    "PUT",
    "/api/schedules/night",
    { device: CONSOLE, exit: "blocked", at: "21:00", until: "07:00", days: ["mon", "fri"] },
  ],
  ["PUT", "/api/schedules/move", { tunnel: "main", at: "04:00" }],
  ["PUT", "/api/schedules/slow", { device: TV, rate: { down: 2, up: 2 }, at: "12:00", until: "13:00" }],
  ["PUT", "/api/favourites/managed/se-1"],
  ["PUT", `/api/forwards/${TV}/tcp/6881`, { external: 51_413 }],
  ["POST", "/api/remote/devices", { name: "Phone", public_key: PHONE_KEY, exit: "amsterdam" }],
  ["PUT", "/api/settings", { failover: true, quality: { every_seconds: 30 }, line: { down: 100, up: 40 } }],
  ["POST", "/api/notifications", { name: "phone", address: "ntfy://ntfy.sh/golden" }],
  ["POST", "/api/links/take", { code: PARENTS_CODE, name: "Parents" }],
  ["PUT", `/api/links/Parents/devices/${TV}`],
];

/** Asked without a body. What only root's own HTTPS tells is asked by it, too. */
export const QUESTIONS = [
  ...["status", "providers", "servers", "servers/counts", "managed", "favourites", "round-trips"],
  ...["tunnels", "devices", "devices/self", "networks"],
  ...["destinations", `destinations/explain?device=${TV}&name=a.cdn.example`, "dns", "dns/lists", "dns/log"],
  ...[
    "schedules",
    "forwards",
    "remote",
    "links",
    "network",
    "killswitch",
    "checks",
    "history?from=2023-11-14T00:00:00Z",
    "events",
  ],
  ...[
    "settings",
    "access",
    "https",
    "notifications",
    "tokens",
    "speed-tests",
    "page",
    "accounts/mullvad",
    "owner/claim",
    "owner/ports",
  ],
].map((path) => `/api/${path}`);

/** A home in which everything is used once: all of it but the machine and the broker is real. */
export class PlayedHome {
  /** Each step with its answer. */
  readonly steps: string[] = [];

  private constructor(
    private readonly secure: SecureHome,
    readonly events: Listener,
    readonly broker: FakeBroker,
    private readonly ending: AbortController,
  ) {}

  static async play(): Promise<PlayedHome> {
    const chance = spyOn(crypto, "getRandomValues").mockImplementation(sameEachTime());
    return PlayedHome.playNow().finally(() => chance.mockRestore());
  }

  private static async playNow(): Promise<PlayedHome> {
    const secure = await SecureHome.start();
    const { home } = secure;
    const ending = new AbortController();
    const broker = await FakeBroker.start();
    const played = new PlayedHome(secure, await listenTo(home.port), broker, ending);
    await home.parts.notifications.start(ending.signal);
    home.parts.alerts.follow((payload) => home.parts.notifications.tell({ type: "security_alert", payload }));
    void runBridge(bridgeOf(home, broker), ending.signal);
    // The status has asked who is there before the kernel tells of it.
    for (const mac of [LAPTOP, TV, CAMERA, CONSOLE]) see(home, mac);
    await home.parts.remoteAccess.turnOn({ endpoint: "home.example", port: 51_820, through: null });
    for (const step of STEPS) await played.do(step);
    await home.parts.tokens.add("scripts", true);
    await nextTurn();
    home.parts.alerts.raise("firewall_altered", { what: "altered" });
    await played.pass(MINUTE_MS);
    return played;
  }

  get home(): Home {
    return this.secure.home;
  }

  /** The answer to a GET over HTTPS. */
  async ask(path: string): Promise<Answer> {
    return this.secure.send("GET", path);
  }

  async end(): Promise<void> {
    this.ending.abort();
    await this.pass(MINUTE_MS);
    await this.broker.stop();
    await this.secure.stop();
  }

  private async do([method, path, body]: Step): Promise<void> {
    const text = body === undefined ? undefined : JSON.stringify(body);
    const answer = await this.secure.send(method, path, text);
    this.steps.push([method, path, text ?? "", `\n  ${answer.status}`, answer.text].join(" "));
    if (answer.status !== 200) throw new Error([this.steps.at(-1), ...this.home.faults].join("\n"));
  }

  /** What is on its way to the broker meanwhile arrives. */
  private async pass(ms: number): Promise<void> {
    for (let past = 0; past < ms; past += STEP_MS) {
      await this.home.pass(STEP_MS);
      await Bun.sleep(1);
    }
  }
}

/** Keys, networks and numbers that are otherwise chosen by chance. */
function sameEachTime(): typeof crypto.getRandomValues {
  // By length, so that one more key changes no other number.
  const drawn = new Map<number, number>();
  return (array) => {
    const { buffer, byteOffset, byteLength } = array as unknown as Uint8Array<ArrayBuffer>;
    new Uint8Array(buffer, byteOffset, byteLength).forEach((_, at, bytes) => {
      const next = (drawn.get(byteLength) ?? 0) + 37;
      drawn.set(byteLength, next);
      bytes[at] = next % 251;
    });
    return array;
  };
}

function see(home: Home, mac: Mac): void {
  home.hear(mac, `192.168.7.${mac.slice(-2)}`);
}

function bridgeOf(home: Home, broker: FakeBroker): Parameters<typeof runBridge>[0] {
  const settings = settingsFrom({ mqtt: `mqtt://127.0.0.1:${broker.port}` });
  const ignore = () => {};
  return {
    settings: { ...settings, mqtt: settings.mqtt as NonNullable<typeof settings.mqtt> },
    gateway: home.parts,
    ...{ host: home.host, store: home.parts.store, hostname: "pi" },
    status: new MqttStatus(settings, { publish: ignore }),
    log: { info: ignore, warn: ignore },
    lans: () => [],
    tunnelTo: () => null,
  };
}
