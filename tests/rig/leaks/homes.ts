import assert from "node:assert/strict";
import { join } from "node:path";
import { commandIn } from "../../../src/sandbox/namespace.ts";
import { INTERNET, LAN, ROUTER, UPLINK, VPN } from "../../../src/sandbox/topology.ts";
import { CABIN, type Cabin, openCabin } from "../home/cabin.ts";
import { Doorbell } from "../peers/visited-port.ts";
import type { Gateway } from "../tools/lab.ts";
import { LanDevice } from "../tools/lan-device.ts";
import { PROGRAM } from "../tools/program.ts";
import { Sniffer } from "../tools/sniffer.ts";
import { until } from "../tools/until.ts";
import type { Fresh } from "./fresh.ts";
import type { Entrance, Transition } from "./transitions.ts";

const PORT = 51_820;
const BELL = 8_080;
/** WireGuard's own times, twice, and a busy machine. */
const WITHIN_MS = 90_000;
/** By which a gateway asks its router to let the other home in. */
const PORT_SEARCH =
  /^(172\.20\.4\.2 > 172\.20\.4\.1|192\.168\.88\.2 > 192\.168\.88\.1|\S+ > 239\.255\.255\.250) UDP \d+ > (1900|5351)\b/;
const HOMES: string = VPN.vpn1.v4;

const TRANSITIONS: readonly Transition<Linked>[] = [
  {
    what: "a second device is allowed, and denied again",
    run: async (homes) => {
      await homes.home.ask("PUT", homes.pathOf(homes.tvId));
      await until(() => homes.reaches(homes.device, homes.tv.v4), WITHIN_MS);
      await homes.home.ask("DELETE", homes.pathOf(homes.tvId));
      await homes.isShut(homes.tv.v4);
    },
  },
  {
    what: "the device that is allowed is denied while it is reached, and allowed again",
    run: async (homes) => {
      await homes.home.ask("DELETE", homes.pathOf(homes.laptopId));
      await homes.isShut(LAN.client4);
      await homes.home.ask("PUT", homes.pathOf(homes.laptopId));
    },
  },
  {
    what: "the other home leaves here, which is blocked meanwhile, and then no longer",
    run: async (homes) => {
      const seen = (as: string | null) => until(async () => (await homes.seenAs()) === as, WITHIN_MS);
      await homes.home.ask("PATCH", "/api/links/cabin", { exit: true });
      await homes.cabin.gateway.ask("PUT", "/api/tunnels/home", { provider: "custom", server: "home" });
      await homes.give("home");
      await seen(HOMES);
      await homes.home.ask("POST", "/api/disconnect");
      await seen(null);
      await homes.home.ask("POST", "/api/connect", { server: "box-vpn-1" });
      await seen(HOMES);
      await homes.cabin.gateway.kill("SIGKILL");
      assert.ok([HOMES, null].includes(await homes.seenAs()));
      await homes.cabin.gateway.start();
      await seen(HOMES);
      await homes.home.ask("PATCH", "/api/links/cabin", { exit: false });
      assert.equal(await homes.seenAs(), null);
      await homes.give(null);
    },
  },
  {
    what: "the link's packets do not arrive for some time",
    run: async (homes) => {
      await homes.cable("down");
      await homes.isShut(LAN.client4);
      assert.equal(await homes.seenAs(), null);
      await homes.cable("up");
    },
  },
  {
    what: "the interface of the link is deleted here",
    run: (homes) => homes.fresh.inside(["ip", "link", "del", `${homes.fresh.lab.sandbox.interface}r`]),
  },
  ...(["home", "cabin"] as const).map((which) => ({
    what: `${which}'s service is killed, and its firewall is deleted`,
    losesLayer: true as const,
    run: async (homes: Linked) => {
      const gateway = which === "home" ? homes.home : homes.cabin.gateway;
      await gateway.kill("SIGKILL");
      const name = which === "home" ? homes.fresh.lab.namespaces.gateway : homes.cabinGateway;
      await homes.fresh.lab.exec(name, ["nft", "delete", "table", "inet", "portcullis"]);
      await homes.isShut(homes.tv.v4);
      assert.equal(await homes.seenAs(), null);
      await gateway.start();
    },
  })),
  {
    what: "remote access is off, and on again",
    run: async (homes) => {
      assert.equal((await homes.home.operate("remote", "off")).code, 0);
      await homes.isShut(LAN.client4);
      assert.equal((await homes.home.operate("remote", "on", "--endpoint", ROUTER.public4)).code, 0);
    },
  },
];

/** The laptop of one home and the device of the other reach each other, and send without a pause, to a TV, too. */
export const LINK: Entrance<Linked> = {
  name: "two homes whose link, allowed devices and exits change, while either is killed",
  cards: [2],
  endpoints: [{ address: UPLINK.gateway4, port: PORT }],
  allowed: (leak) => PORT_SEARCH.test(leak),
  open: async (fresh) => {
    await fresh.startTraffic();
    // The gateway is a plain router yet.
    await fresh.control(() => fresh.observe());
    const homes = await Linked.open(fresh);
    await fresh.guarded(() => homes.begin());
    return homes;
  },
  transitions: TRANSITIONS,
  last: (homes) => homes.isSeenWithoutKillSwitch(),
};

class Linked {
  laptopId = "";
  tvId = "";
  deviceId = "";
  private senders: Bun.Subprocess[] = [];
  private bells: Doorbell[] = [];

  private constructor(
    readonly fresh: Fresh,
    readonly home: Gateway,
    readonly cabin: Cabin,
    readonly tv: LanDevice,
    private readonly uplink: Sniffer,
  ) {}

  static async open(fresh: Fresh): Promise<Linked> {
    const { lab } = fresh;
    const home = await lab.startGateway();
    const cabin = await openCabin(lab, PORT);
    const uplink = await Sniffer.start(cabin.router, "phone4", {
      endpoints: [{ address: ROUTER.public4, port: PORT }],
      direction: "in",
    });
    return new Linked(fresh, home, cabin, await LanDevice.plugIn(lab, 1), uplink);
  }

  get gateway(): Gateway {
    return this.home;
  }

  get device(): string {
    return this.cabin.device;
  }

  get cabinGateway(): string {
    return `${this.fresh.lab.sandbox.id}-phone4`;
  }

  async begin(): Promise<void> {
    const { lab } = this.fresh;
    const { home, cabin, tv } = this;
    const cabins = ["--state-dir", join(lab.sandbox.directory, "cabin")];
    assert.equal((await home.operate("remote", "on", "--endpoint", ROUTER.public4)).code, 0);
    assert.equal((await lab.outside([...PROGRAM, "remote", "on", ...cabins])).code, 0);
    const offer = await home.ask("POST", "/api/links", { name: "cabin" });
    const answer = await cabin.gateway.ask("POST", "/api/links/take", { code: offer.code, name: "home" });
    await home.ask("POST", "/api/links/take", { code: answer.code });
    await home.ask("POST", "/api/connect", { server: "box-vpn-1" });
    for (const namespace of [lab.namespaces.client, tv.namespace, this.device])
      this.bells.push(await Doorbell.start(lab, namespace, BELL));
    this.laptopId = await this.idOf(home, lab.namespaces.client, LAN.client4, LAN.gateway4);
    this.tvId = await this.idOf(home, tv.namespace, tv.v4, LAN.gateway4);
    this.deviceId = await this.idOf(cabin.gateway, this.device, CABIN.device4, CABIN.gateway4);
    await home.ask("PUT", this.pathOf(this.laptopId));
    await cabin.gateway.ask("PUT", `/api/links/home/devices/${encodeURIComponent(this.deviceId)}`);
    this.senders = [
      this.sends(this.device, LAN.client4),
      this.sends(this.device, tv.v4),
      this.sends(this.device, INTERNET.host4),
      this.sends(lab.namespaces.client, CABIN.device4),
      this.sends(tv.namespace, CABIN.device4),
    ];
    await this.holds();
  }

  /** What is allowed is reached, in both directions, and the TV is not. Nothing of the cabin leaves in clear. */
  async holds(): Promise<void> {
    await until(() => this.reaches(this.device, LAN.client4), WITHIN_MS).catch(() =>
      assert.fail("the laptop is not reached"),
    );
    await until(() => this.reaches(this.tv.namespace, CABIN.device4), WITHIN_MS).catch(() =>
      assert.fail("the cabin's device is not reached"),
    );
    assert.equal(await this.seenAs(), null, "the cabin has no exit");
    await this.isShut(this.tv.v4);
  }

  async isShut(address: string): Promise<void> {
    assert.equal(await this.reaches(this.device, address), false, `${address} is reached`);
    const { leaks } = await this.uplink.count();
    assert.deepEqual(
      leaks.filter((leak) => !PORT_SEARCH.test(leak)),
      [],
      "of the cabin, in clear",
    );
  }

  /** The positive control of the cabin's sniffer. */
  async isSeenWithoutKillSwitch(): Promise<void> {
    await this.fresh.lab.exec(this.cabinGateway, [
      ...["ip", "link", "del", `${this.fresh.lab.sandbox.id}cr`],
    ]);
    await this.cabin.gateway.expose();
    const isSeen = () => this.uplink.peek().leaks.some((leak) => !PORT_SEARCH.test(leak));
    await until(async () => isSeen(), WITHIN_MS).catch(() =>
      assert.fail("positive control: the cabin's sniffer sees nothing"),
    );
  }

  async end(): Promise<void> {
    for (const sender of this.senders) sender.kill();
    for (const bell of this.bells) bell.stop();
    await this.uplink.stop();
  }

  pathOf(id: string): string {
    return `/api/links/cabin/devices/${encodeURIComponent(id)}`;
  }

  give(exit: string | null): Promise<unknown> {
    return this.cabin.gateway.ask("PUT", `/api/devices/${encodeURIComponent(this.deviceId)}`, { exit });
  }

  async reaches(from: string, address: string): Promise<boolean> {
    return (await this.fresh.lab.fetchFrom(from, `http://${address}:${BELL}/`)) !== null;
  }

  seenAs(): Promise<string | null> {
    return this.fresh.lab.fetchFrom(this.device, `http://${INTERNET.host4}/ip`);
  }

  async cable(way: "up" | "down"): Promise<void> {
    await this.fresh.lab.exec(this.cabin.router, ["ip", "link", "set", "wan0", way]);
    if (way === "up")
      await this.fresh.lab.exec(this.cabin.router, ["ip", "route", "replace", "default", "dev", "wan0"]);
  }

  private sends(from: string, address: string): Bun.Subprocess {
    return Bun.spawn(commandIn(from, ["ping", "-q", "-i", "0.05", address]), { stdout: "ignore" });
  }

  /** Its id at the gateway, once that has heard it. */
  private async idOf(gateway: Gateway, namespace: string, address: string, own: string): Promise<string> {
    await this.fresh.lab.exec(namespace, ["ping", "-c", "1", "-W", "10", own]);
    let id = "";
    await until(async () => {
      const { devices } = await gateway.ask("GET", "/api/devices");
      id = devices.find(({ addresses }: { addresses: string[] }) => addresses.includes(address))?.id ?? "";
      return id !== "";
    }, WITHIN_MS);
    return id;
  }
}
