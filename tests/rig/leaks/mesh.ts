import assert from "node:assert/strict";
import { INTERNET, LAN, ROUTER, VPN } from "../../../src/sandbox/topology.ts";
import { Mesh } from "../home/mesh.ts";
import type { Gateway } from "../tools/lab.ts";
import { until } from "../tools/until.ts";
import type { Fresh } from "./fresh.ts";
import type { Entrance, Transition } from "./transitions.ts";

/** WireGuard's own times, twice, and a busy machine. */
const WITHIN_MS = 60_000;
const HOMES: string = VPN.vpn1.v4;
const SECONDS: string = VPN.vpn2.v4;
type Peer = Mesh["peers"][number];

const TRANSITIONS: readonly Transition<Meshed>[] = [
  {
    what: "the mesh's exit is another tunnel, blocked, and main again",
    run: async (home) => {
      await home.decide({ exit: "second" });
      await home.isSeen(home.phone, SECONDS);
      await home.decide({ exit: "blocked" });
      assert.equal(await home.phone.seenAs(), null);
      await home.decide({ exit: "main" });
    },
  },
  {
    what: "a device loses its exit and gets it again",
    run: async (home) => {
      await home.give(home.tablet, null);
      await home.isSeen(home.tablet, HOMES);
      await home.give(home.tablet, "blocked");
      assert.equal(await home.tablet.seenAs(), null);
      await home.give(home.tablet, "second");
    },
  },
  {
    what: "direct is refused, for a device and for the mesh",
    run: async (home) => {
      assert.equal((await home.gateway.operate("direct", "on")).code, 0);
      const answers = [
        await home.gateway.api("PUT", `/api/networks/${home.mesh.link}`, { exit: "direct" }),
        await home.gateway.api("PUT", home.pathOf(home.phone), { exit: "direct" }),
      ];
      assert.deepEqual(
        answers.map(({ status, body }) => [status, body.error.split(", ")[0]]),
        [
          [400, "exit: direct cannot be the default exit of a network"],
          [400, "exit: direct is for single devices"],
        ],
      );
      assert.equal((await home.gateway.operate("direct", "off")).code, 0);
    },
  },
  {
    what: "the LAN is let in and shut out",
    run: async (home) => {
      assert.equal(await home.reachesLan(), false);
      await home.gateway.ask("PUT", "/api/networks/lan0", { others: true });
      await home.decide({ others: true });
      await until(() => home.reachesLan(), WITHIN_MS);
      await home.decide({ others: false });
      await until(async () => !(await home.reachesLan()), WITHIN_MS);
    },
  },
  {
    what: "main, by which the mesh itself is reached, disconnects and connects",
    run: async (home) => {
      await home.gateway.ask("POST", "/api/disconnect");
      for (const peer of home.mesh.peers) assert.equal(await peer.seenAs(), null);
      await home.gateway.ask("POST", "/api/connect", { server: "box-vpn-1" });
    },
  },
  {
    what: "the mesh's own table is flushed",
    run: (home) => home.mesh.flushTable(),
  },
  {
    what: "the mesh's rules and chains go, as with `tailscale down`, and return",
    run: async (home) => {
      await home.mesh.removeRules();
      await home.holds();
      await home.mesh.addRules();
      await home.mesh.addChains();
    },
  },
  {
    what: "the mesh's interface goes and returns",
    run: async (home) => {
      await home.mesh.unplug();
      await until(async () => (await home.network()).present === false, WITHIN_MS);
      await home.mesh.plug();
    },
  },
  ...(["SIGKILL", "SIGTERM"] as const).map((signal) => ({
    what: `${signal}, and a start`,
    run: async (home: Meshed) => {
      await home.gateway.kill(signal);
      await home.onlyOwnExits();
      await home.gateway.start();
    },
  })),
  {
    what: "the ruleset is flushed while the service is dead",
    losesLayer: true,
    run: async (home) => {
      await home.gateway.kill("SIGKILL");
      await home.fresh.inside(["nft", "flush", "ruleset"]);
      await home.isBlocked();
      await home.mesh.addChains();
      await home.gateway.start();
    },
  },
  {
    what: "the firewall's table is deleted while the service hangs",
    losesLayer: true,
    run: (home) =>
      home.whileHanging(() => home.fresh.inside(["nft", "delete", "table", "inet", "portcullis"])),
  },
  {
    what: "the routing rules are deleted while the service hangs",
    losesLayer: true,
    run: (home) => home.whileHanging(() => home.dropRules()),
  },
];

/** A mesh's phone leaves by main, as the mesh does, and its tablet by a second tunnel. Both send without a pause. */
export const MESH: Entrance<Meshed> = {
  name: "a mesh whose exits, table, rules and interface change, while the service is killed and each layer is lost",
  // Answers that lose their way have one that is open.
  cards: [1],
  open: async (fresh) => {
    const home = await Meshed.join(fresh);
    await fresh.control(async () => assert.equal(await home.phone.seenAs(), ROUTER.public4));
    await home.begin();
    // With one card a plain router would send the client past the gateway, by redirects.
    await fresh.startTraffic();
    return home;
  },
  transitions: TRANSITIONS,
};

class Meshed {
  gateway!: Gateway;
  private senders: Bun.Subprocess[] = [];

  private constructor(
    readonly fresh: Fresh,
    readonly mesh: Mesh,
  ) {}

  static async join(fresh: Fresh): Promise<Meshed> {
    const home = new Meshed(fresh, await Mesh.of(fresh.lab, 2));
    // Otherwise the kernel sends one ICMP error a second to each device.
    for (const path of ["ipv4/icmp_ratelimit", "ipv6/icmp/ratelimit"])
      await fresh.inside(["sysctl", "-qw", `net/${path}=0`]);
    home.senders = home.mesh.peers.flatMap((peer) => [
      peer.sends(INTERNET.host4),
      peer.sends(INTERNET.host6),
      peer.sends(LAN.client4),
    ]);
    return home;
  }

  get phone(): Peer {
    return this.mesh.peers[0] as Peer;
  }

  get tablet(): Peer {
    return this.mesh.peers[1] as Peer;
  }

  async begin(): Promise<void> {
    this.gateway = await this.fresh.lab.startGateway({ flags: ["--mesh", this.mesh.link] });
    await this.fresh.guarded(async () => {
      await this.gateway.ask("POST", "/api/connect", { server: "box-vpn-1" });
      await this.gateway.ask("PUT", "/api/tunnels/second", { provider: "managed", server: "box-vpn-2" });
      await this.isBlocked();
      await this.decide({ exit: "main" });
      await until(() => this.isHeard(), WITHIN_MS).catch(() =>
        assert.fail("the mesh's devices are not heard"),
      );
      await this.give(this.tablet, "second");
      await this.holds();
    });
  }

  private async isHeard(): Promise<boolean> {
    const { devices } = await this.gateway.ask("GET", "/api/devices");
    const ids = devices.map(({ id }: { id: string }) => id);
    return this.mesh.peers.every(({ v4 }) => ids.includes(`${v4}/32`));
  }

  async end(): Promise<void> {
    for (const sender of this.senders) sender.kill();
  }

  async holds(): Promise<void> {
    await this.isSeen(this.phone, HOMES);
    await this.isSeen(this.tablet, SECONDS);
  }

  async isSeen(peer: Peer, address: string): Promise<void> {
    let seen: string | null = null;
    await until(async () => {
      seen = await peer.seenAs();
      return seen === address;
    }, WITHIN_MS).catch(() => assert.fail(`a device of the mesh is seen as ${seen} instead of ${address}`));
  }

  /** Each by its exit, or not at all. */
  async onlyOwnExits(): Promise<void> {
    assert.ok([HOMES, null].includes(await this.phone.seenAs()), "the phone is seen by another exit");
    assert.ok([SECONDS, null].includes(await this.tablet.seenAs()), "the tablet is seen by another exit");
  }

  async isBlocked(): Promise<void> {
    for (const peer of this.mesh.peers) assert.equal(await peer.seenAs(), null);
  }

  async whileHanging(lose: () => Promise<unknown>): Promise<void> {
    process.kill(this.gateway.pid, "SIGSTOP");
    try {
      await lose();
      await this.isBlocked();
    } finally {
      process.kill(this.gateway.pid, "SIGCONT");
    }
  }

  decide(change: object): Promise<unknown> {
    return this.gateway.ask("PUT", `/api/networks/${this.mesh.link}`, change);
  }

  give(peer: Peer, exit: string | null): Promise<unknown> {
    return this.gateway.ask("PUT", this.pathOf(peer), { exit });
  }

  pathOf({ v4 }: Peer): string {
    return `/api/devices/${encodeURIComponent(`${v4}/32`)}`;
  }

  async reachesLan(): Promise<boolean> {
    return (await this.phone.run(["ping", "-c", "1", "-W", "2", LAN.client4])).code === 0;
  }

  async network() {
    const { networks } = await this.gateway.ask("GET", "/api/networks");
    return networks.find((each: { interface: string }) => each.interface === this.mesh.link);
  }

  /** The gateway's, not the mesh's, which lead where no rule of the gateway's does any more. */
  async dropRules(): Promise<void> {
    for (const family of ["-4", "-6"]) {
      const shown = JSON.parse(await this.fresh.inside(["ip", "-j", family, "rule", "show"]));
      const own = shown.filter(({ priority }: { priority: number }) => priority >= 10 && priority <= 99);
      const lines = own.map(({ priority }: { priority: number }) => `rule del priority ${priority}\n`);
      await this.fresh.inside(["ip", family, "-batch", "-"], lines.join(""));
    }
  }
}
