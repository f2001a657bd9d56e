import assert from "node:assert/strict";
import { commandIn } from "../../../src/sandbox/namespace.ts";
import { INTERNET, LAN, VPN } from "../../../src/sandbox/topology.ts";
import type { Answer, Gateway, Lab } from "../tools/lab.ts";
import type { Traffic } from "../tools/traffic.ts";
import { until } from "../tools/until.ts";
import type { Fresh } from "./fresh.ts";
import type { Entrance, Transition } from "./transitions.ts";

/** A network on a card of its own, with one computer. */
interface Card {
  link: string;
  mac: string;
  gateway4: string;
  gateway6: string;
  host4: string;
  host6: string;
}

const GUESTS: Card = {
  ...{ link: "guest0", mac: "02:00:00:00:20:10" },
  ...{ gateway4: "192.168.20.1", gateway6: "fd20::1", host4: "192.168.20.10", host6: "fd20::10" },
};
const THINGS: Card = {
  ...{ link: "iot0", mac: "02:00:00:00:30:10" },
  ...{ gateway4: "192.168.30.1", gateway6: "fd30::1", host4: "192.168.30.10", host6: "fd30::10" },
};
/** Where the guest's phone is at home, with the same MAC address. */
const ROAMING = { host4: "192.168.77.90", host6: "fd77::90" };
const PAGES = [`http://${INTERNET.host4}/`, `http://[${INTERNET.host6}]/`];
const [HOMES, SECONDS] = [Object.values(VPN.vpn1), Object.values(VPN.vpn2)];
/** The kernel's events, the neighbours and the tunnels, on a busy machine. */
const WITHIN_MS = 60_000;
const KILLS = 3;
const PORT = 8_088;
const PAGE = "the page";
/** What the guests' interface is called when it returns. */
const RENAMED = "guest9";

const TRANSITIONS: readonly Transition<Networks>[] = [
  {
    what: "guests get the home's exit, another one, and none",
    run: async (home) => {
      await home.decide(GUESTS.link, { exit: null });
      await until(() => home.seen(home.guest, HOMES), WITHIN_MS);
      await home.decide(GUESTS.link, { exit: "second" });
      await until(() => home.seen(home.guest, SECONDS), WITHIN_MS);
      await home.decide(GUESTS.link, { exit: "blocked" });
    },
  },
  {
    what: "guests are let in to the page and to the other networks, and shut out",
    run: async (home) => {
      await home.decide(GUESTS.link, { page: true, others: true });
      const reaches = async () => (await home.reached(home.guest, LAN.client4)).length > 0;
      await until(reaches, WITHIN_MS);
      assert.equal(await home.asks(home.guest, GUESTS.gateway4), PAGE);
      await home.decide(GUESTS.link, { page: false, others: false });
    },
  },
  {
    what: "the guests' interface goes, returns under another name, and has its own again",
    run: async (home) => {
      await home.rename(GUESTS.link, RENAMED);
      await home.observe();
      await home.blocked();
      await home.isApart();
      const row = async () => (await home.networks()).find((each) => each.interface === RENAMED);
      await until(async () => (await row())?.exit === "blocked", WITHIN_MS);
      await home.blocked();
      await home.isApart();
      await home.rename(RENAMED, GUESTS.link);
    },
  },
  ...Array.from({ length: KILLS }, (_, times) => ({
    what: `the service is killed for the ${times + 1}. time`,
    run: async (home: Networks) => {
      await home.gateway.kill("SIGKILL");
      await home.observe();
      await home.isApart();
      await home.gateway.start();
    },
  })),
  {
    what: "the ruleset is flushed",
    losesLayer: true,
    run: async (home) => {
      await home.fresh.inside(["nft", "flush", "ruleset"]);
      await home.observe();
    },
  },
  {
    what: "one layer is lost while the service hangs",
    losesLayer: true,
    run: (home) => home.withoutOneLayer(),
  },
  { what: "a guest's phone roams", run: (home) => home.roam() },
];

/**
 * The home, whose exit is main; guests, who are blocked; and things on a second tunnel, which the home may reach. All
 * send without a pause.
 */
export const NETWORKS: Entrance<Networks> = {
  name: "three networks with an exit each that change, go and return, while the service is killed and each layer is lost, and a phone that roams",
  cards: [2],
  open: async (fresh) => {
    const home = await Networks.plugIn(fresh);
    await fresh.startTraffic();
    // The gateway is a plain router yet.
    await fresh.control(() => home.observe());
    assert.deepEqual(await home.reached(home.guest, LAN.client4, THINGS.host4), [LAN.client4, THINGS.host4]);
    assert.equal(await home.asks(home.guest, GUESTS.gateway4), PAGE);
    await home.begin();
    await fresh.guarded(() => home.holds());
    return home;
  },
  transitions: TRANSITIONS,
  // The guest keeps that address.
  last: (home) => home.fresh.guarded(() => home.forge()),
};

class Networks {
  readonly guest: string;
  readonly thing: string;
  readonly roaming: string;
  gateway!: Gateway;
  private traffics: Traffic[] = [];
  private server: Bun.Subprocess | null = null;

  private constructor(readonly fresh: Fresh) {
    const { id } = fresh.lab.sandbox;
    [this.guest, this.thing, this.roaming] = [`${id}-guest`, `${id}-thing`, `${id}-roam`];
  }

  private get lab(): Lab {
    return this.fresh.lab;
  }

  static async plugIn(fresh: Fresh): Promise<Networks> {
    const home = new Networks(fresh);
    for (const [name, card] of [
      [home.guest, GUESTS],
      [home.thing, THINGS],
    ] as const)
      await home.plug(name, card);
    const serve = `Bun.serve({ hostname: "::", port: ${PORT}, fetch: () => new Response("${PAGE}") })`;
    home.server = Bun.spawn(commandIn(fresh.lab.namespaces.gateway, [process.execPath, "-e", serve]));
    home.traffics = await Promise.all([home.guest, home.thing].map((name) => fresh.lab.traffic(name)));
    return home;
  }

  /** The home's default exit, blocked for guests, and another tunnel for things. */
  async begin(): Promise<void> {
    this.gateway = await this.lab.startGateway({
      flags: ["--lan", `lan0,${GUESTS.link},${THINGS.link},${RENAMED}`],
    });
    await this.ask("POST", "/api/connect", { server: "box-vpn-1" });
    await this.ask("PUT", "/api/tunnels/second", { provider: "managed", server: "box-vpn-2" });
    await until(async () => (await this.networks()).length === 3, WITHIN_MS).catch(() =>
      assert.fail("no networks"),
    );
    await this.decide(GUESTS.link, { name: "Guests", exit: "blocked", page: false });
    await this.decide(THINGS.link, { exit: "second", page: false, others: true });
    await this.decide("lan0", { others: true });
  }

  async networks(): Promise<{ interface: string; exit: string }[]> {
    return (await this.gateway.ask("GET", "/api/networks")).networks;
  }

  decide(link: string, change: object): Promise<void> {
    return this.ask("PUT", `/api/networks/${link}`, change);
  }

  /** With the addresses that it had: the kernel takes those of IPv6 from an interface that is down. */
  rename(from: string, to: string): Promise<void> {
    return this.batch(this.lab.namespaces.gateway, [
      `link set ${from} down`,
      `link set ${from} name ${to}`,
      `link set ${to} up`,
      `address replace ${GUESTS.gateway4}/24 dev ${to}`,
      `address replace ${GUESTS.gateway6}/64 dev ${to} nodad`,
    ]);
  }

  async end(): Promise<void> {
    const [guests, things] = await Promise.all(this.traffics.map((traffic) => traffic.stop()));
    assert.ok(guests !== undefined && things !== undefined);
    this.server?.kill();
  }

  /** Returns once each network has sent some more datagrams. */
  async observe(): Promise<void> {
    await Promise.all([this.fresh.observe(), ...this.traffics.map((traffic) => traffic.sends(50))]);
  }

  /** Each network has its exit, and nothing else. */
  async holds(): Promise<void> {
    await this.observe();
    await until(
      async () => (await this.seen(this.lab.namespaces.client, HOMES)) && this.seen(this.thing, SECONDS),
      WITHIN_MS,
    );
    await this.blocked();
    await this.isApart();
    const things = await this.reached(this.lab.namespaces.client, THINGS.host4, THINGS.host6);
    assert.deepEqual(things, [THINGS.host4, THINGS.host6], "the home reaches its things");
    assert.deepEqual(await this.reached(this.thing, LAN.client4), [LAN.client4]);
  }

  /** Guests reach no other network, nobody reaches guests, and neither guests nor things reach the page. */
  async isApart(): Promise<void> {
    const { client } = this.lab.namespaces;
    const homes = [LAN.client4, LAN.client6, THINGS.host4, THINGS.host6];
    assert.deepEqual(await this.reached(this.guest, ...homes), []);
    assert.deepEqual(await this.reached(client, GUESTS.host4, GUESTS.host6), []);
    assert.deepEqual(await this.reached(this.thing, GUESTS.host4, GUESTS.host6), []);
    for (const name of [this.guest, this.thing])
      for (const host of [GUESTS.gateway4, THINGS.gateway4, LAN.gateway4, `[${GUESTS.gateway6}]`])
        assert.equal(await this.asks(name, host), null);
    assert.equal(await this.asks(client, LAN.gateway4), PAGE);
  }

  /** With the service stopped, the other layer alone keeps the networks apart. */
  async withoutOneLayer(): Promise<void> {
    const { gateway, fresh } = this;
    for (const break_ of [
      () => fresh.inside(["nft", "delete", "table", "inet", "portcullis"]),
      async () => {
        for (const family of ["-4", "-6"]) await this.dropRules(family);
      },
    ]) {
      process.kill(gateway.pid, "SIGSTOP");
      try {
        await break_();
        const homes = [LAN.client4, LAN.client6, THINGS.host4, THINGS.host6];
        assert.deepEqual(await this.reached(this.guest, ...homes), []);
        assert.deepEqual(await this.reached(this.lab.namespaces.client, GUESTS.host4), []);
        await this.blocked();
      } finally {
        process.kill(gateway.pid, "SIGCONT");
      }
      await this.holds();
    }
  }

  /** Without the gateway's own rules, main's routes lead everywhere. */
  private async dropRules(family: string): Promise<void> {
    const shown = JSON.parse(await this.fresh.inside(["ip", "-j", family, "rule", "show"]));
    const own = shown.filter(({ priority }: { priority: number }) => priority >= 10 && priority <= 99);
    const lines = own.map(({ priority }: { priority: number }) => `rule del priority ${priority}\n`);
    await this.fresh.inside(["ip", family, "-batch", "-"], lines.join(""));
  }

  /** The guest's phone comes home, with its MAC address on both networks at once, and is a guest again. */
  async roam(): Promise<void> {
    const { client } = this.lab.namespaces;
    await this.lab.outside(["ip", "netns", "add", this.roaming]);
    await this.batch(client, [
      `link add link lan0 name roam address ${GUESTS.mac} netns ${this.roaming} type macvlan mode private`,
    ]);
    await this.configure(this.roaming, "roam", ROAMING, { gateway4: LAN.gateway4, gateway6: LAN.gateway6 });
    await until(() => this.seen(this.roaming, HOMES), WITHIN_MS);
    await this.blocked();
    assert.deepEqual(await this.reached(this.guest, LAN.client4, ROAMING.host4), []);
    await this.batch(this.roaming, ["link del lan0"]);
    await this.lab.outside(["ip", "netns", "del", this.roaming]);
    await this.observe();
    await this.blocked();
  }

  /** A guest with the MAC address of the home's computer stays a guest. */
  async forge(): Promise<void> {
    const { client } = this.lab.namespaces;
    const [{ address }] = JSON.parse(
      (await this.lab.exec(client, ["ip", "-j", "link", "show", "lan0"])).stdout,
    );
    const routes = [`route add default via ${GUESTS.gateway4}`, `route add default via ${GUESTS.gateway6}`];
    await this.batch(this.guest, [
      "link set lan0 down",
      `link set lan0 address ${address}`,
      "link set lan0 up",
    ]);
    await this.batch(this.guest, [`address replace ${GUESTS.host6}/64 dev lan0 nodad`, ...routes]);
    await this.observe();
    await this.blocked();
    await this.isApart();
    await until(() => this.seen(client, HOMES), WITHIN_MS);
  }

  /** A page that a program on the gateway serves to all, as the gateway itself does not in a lab. */
  asks(from: string, host: string): Promise<string | null> {
    return this.lab.fetchFrom(from, `http://${host}:${PORT}/`);
  }

  /** What a computer gets an answer from. */
  async reached(from: string, ...hosts: readonly string[]): Promise<string[]> {
    const pings = hosts.map((host) => this.lab.exec(from, ["ping", "-nc", "1", "-W", "2", host]));
    const codes = (await Promise.all(pings)).map(({ code }) => code);
    return hosts.filter((_, at) => codes[at] === 0);
  }

  async blocked(): Promise<void> {
    const pages = await Promise.all(PAGES.map((page) => this.lab.fetchFrom(this.guest, page)));
    assert.deepEqual(pages, [null, null], "guests are blocked");
  }

  async seen(from: string, as: readonly string[]): Promise<boolean> {
    const pages = await Promise.all(PAGES.map((page) => this.lab.fetchFrom(from, page)));
    const others = [...HOMES, ...SECONDS].filter((address) => !as.includes(address));
    for (const page of pages)
      assert.ok(page === null || !others.some((each) => page.includes(each)), `${from} is seen as ${page}`);
    return pages.every((page) => page !== null && as.some((each) => page.includes(each)));
  }

  private async ask(method: string, path: string, body: unknown): Promise<void> {
    let answer: Answer = { status: 0, body: null };
    const asked = until(async () => {
      answer = await this.gateway.api(method, path, body);
      return answer.status === 200;
    }, WITHIN_MS);
    await asked.catch(() => assert.fail(`${method} ${path}: ${JSON.stringify(answer.body)}`));
  }

  private async plug(name: string, card: Card): Promise<void> {
    const { gateway } = this.lab.namespaces;
    await this.lab.outside(["ip", "netns", "add", name]);
    await this.batch(gateway, [
      `link add ${card.link} type veth peer name card address ${card.mac} netns ${name}`,
      `address add ${card.gateway4}/24 dev ${card.link}`,
      `address add ${card.gateway6}/64 dev ${card.link} nodad`,
      `link set ${card.link} up`,
    ]);
    await this.configure(name, "card", card, card);
  }

  private configure(
    name: string,
    link: string,
    { host4, host6 }: Pick<Card, "host4" | "host6">,
    { gateway4, gateway6 }: Pick<Card, "gateway4" | "gateway6">,
  ): Promise<void> {
    return this.batch(name, [
      "link set lo up",
      `link set ${link} name lan0`,
      `address add ${host4}/24 dev lan0`,
      `address add ${host6}/64 dev lan0 nodad`,
      "link set lan0 up",
      `route add default via ${gateway4}`,
      `route add default via ${gateway6}`,
    ]);
  }

  private async batch(name: string, lines: readonly string[]): Promise<void> {
    const { stderr } = await this.lab.outside(["ip", "-n", name, "-batch", "-"], `${lines.join("\n")}\n`);
    if (stderr !== "") throw new Error(`${lines.join("; ")}: ${stderr}`);
  }
}
