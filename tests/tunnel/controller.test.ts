import { describe, expect, setDefaultTimeout, test } from "bun:test";
import { join } from "node:path";
import type { Server } from "../../src/servers/schema.ts";
import { publicKeyOf } from "../../src/wireguard/key.ts";
import { CHANGE_ELEMENTS, FakeHost } from "../fake/host.ts";
import { places, sampled } from "../fast.ts";
import { inDirectory } from "./directory.ts";
import {
  freshState,
  Gateway,
  kernelState,
  ONE,
  placeOf,
  SERVERS,
  serversIn,
  stoodAlways,
  THREE,
  TWO,
} from "./gateway.ts";

/** Hundreds of gateways in one test. */
const PATIENCE_MS = 60_000;
setDefaultTimeout(PATIENCE_MS);

/** A place that the tunnel to the first server is not in. */
const ELSEWHERE = { ...placeOf([TWO, THREE]), country: "Sweden" };

const ENDPOINT = { one: "192.0.2.1:51820", two: "192.0.2.2:51820" };

/** A test with a gateway that has started. */
function claim(text: string, work: (gateway: Gateway) => Promise<void>, run: typeof test = test): void {
  run(text, () => inDirectory(async (directory) => work(await Gateway.started(directory))));
}

function tunnelLinks(host: FakeHost): string[] {
  return [...host.links.keys()].filter((name) => name.startsWith("wg"));
}

/** Calls back once, at the first event that `matches`. */
function once(host: FakeHost, matches: (event: string) => boolean, work: () => void): void {
  host.onEvent = (event) => {
    if (!matches(event)) return;
    host.onEvent = () => {};
    work();
  };
}

test("on a kernel without IPv6 a server with IPv4 is connected to, and the kill switch stands", () =>
  inDirectory(async (directory) => {
    const host = new FakeHost();
    host.removeIpv6();
    const gateway = await Gateway.started(directory, host);
    await gateway.controller.connect(ONE);
    expect(await gateway.status()).toMatchObject({ connected: true, killswitch_active: true, error: null });
    expect([host.rules["-6"], gateway.alerts]).toEqual([[], []]);
    expect(host.rules["-4"].length).toBeGreaterThan(5);
    await gateway.restart();
    expect(await gateway.tunnels.protection.fault()).toBeNull();
    await gateway.controller.disconnect();
    expect(stoodAlways(host)).toBe(true);
  }));

describe("a connect", () => {
  claim(
    "that fails leaves the server to be removed, and while it lasts does not",
    async ({ controller, host }) => {
      host.silent.add(ENDPOINT.one);
      const failing = controller.connect(ONE);
      expect(controller.uses(ONE.provider, ONE.name)).toBe(true);
      await expect(failing).rejects.toThrow("did not answer");
      await Bun.sleep(0);
      expect([controller.state.name, controller.uses(ONE.provider, ONE.name)]).toEqual(["failed", false]);
    },
  );

  claim("brings up link, routes and rules, and keeps the kill switch", async (gateway) => {
    const { controller, host } = gateway;
    await controller.connect(ONE);
    expect(tunnelLinks(host)).toEqual(["wg0"]);
    expect(host.links.get("wg0")?.addresses).toEqual(["10.64.0.1/32", "fd00:64::1/128"]);
    expect([...host.routes]).toEqual([
      ["0.0.0.0/0", "wg0"],
      ["::/0", "wg0"],
    ]);
    expect(host.rules["-4"]).toContain("priority 90 unreachable");
    expect(host.table).toContain('oifname "wg0" ct zone set 1');
    expect(await gateway.tunnels.protection.fault()).toBeNull();
    expect(await controller.status("custom")).toMatchObject({
      connected: true,
      server: "one",
      ip: "192.0.2.1",
      killswitch_active: true,
      error: null,
    });
    expect(stoodAlways(host)).toBe(true);
  });

  claim(
    "to another server replaces routes, alternates zones and removes the former link",
    async (gateway) => {
      const { controller, host } = gateway;
      await controller.connect(ONE);
      await controller.connect(TWO);
      await gateway.look();
      await settled(gateway);
      expect(tunnelLinks(host)).toEqual(["wg1"]);
      expect([...host.routes]).toEqual([
        ["0.0.0.0/0", "wg1"],
        ["192.0.0.0/8", "wg1"],
      ]);
      expect(host.table).toContain('oifname "wg1" ct zone set 2');
      await controller.connect(THREE);
      await settled(gateway);
      expect(tunnelLinks(host)).toEqual(["wg0"]);
      expect(host.table).toContain('oifname "wg0" ct zone set 1');
      expect([...host.routes.keys()].toSorted()).toEqual(["0.0.0.0/0", "::/0"]);
      expect(stoodAlways(host)).toBe(true);
    },
  );

  claim("to a silent server fails and leaves the gateway blocked", async ({ controller, host }) => {
    const before = kernelState(host);
    host.silent.add(ENDPOINT.one);
    await expect(controller.connect(ONE)).rejects.toMatchObject({
      code: "no_answer",
      message: "one did not answer the WireGuard handshake within 10 s: is it up, and are the keys right?",
    });
    expect(kernelState(host)).toBe(before);
    expect(await controller.status("custom")).toMatchObject({ connected: false, state: "failed" });
    expect((await controller.status("custom")).error).toContain("did not answer");
    const target = { provider: ONE.provider, wanted: ONE.name };
    expect(await controller.row()).toMatchObject({ ...target, server: "", state: "failed" });
    await controller.disconnect();
    expect(await controller.row()).toMatchObject({ provider: null, wanted: null, state: "disconnected" });
  });

  claim(
    "to a server whose usual port is silent tries its other ports, and begins with that one the next time",
    async ({ controller, host, store }) => {
      const open: Server = {
        ...ONE,
        ports: [
          [53, 53],
          [443, 443],
        ],
      };
      host.silent.add(ENDPOINT.one);
      host.silent.add("192.0.2.1:443");
      await controller.connect(open);
      expect(await controller.status("custom")).toMatchObject({ connected: true, port: 53 });
      expect(serversIn(host.table)).toEqual(["192.0.2.1:53"]);
      const asked: string[] = [];
      host.onEvent = (event) => void (event.startsWith("wg setconf") && asked.push(event));
      await controller.disconnect();
      await controller.connect(open);
      expect(asked.length).toBe(1);
      expect(Object.values(JSON.parse(store.read("server_ways") ?? ""))).toEqual([{ port: 53 }]);
      await controller.disconnect();
      host.silent.clear();
      host.silent.add("192.0.2.1:53");
      await controller.connect(open);
      expect((await controller.status("custom")).port).toBeUndefined();
      expect(JSON.parse(store.read("server_ways") ?? "")).toEqual({});
      for (const port of [443, 51_820]) host.silent.add(`192.0.2.1:${port}`);
      await controller.disconnect();
      await expect(controller.connect(open)).rejects.toMatchObject({
        code: "no_answer",
        message: expect.stringContaining("by UDP at any of its ports 51820, 443, 53: is it up"),
      });
    },
  );

  const RELAYED: Server = { ...ONE, ports: [[443, 443]], offers: { udp2tcp: [443, 80] } };
  const noUdp = ({ silent }: FakeHost) => [51_820, 443].map((port) => silent.add(`192.0.2.1:${port}`));

  claim(
    "to a server that no port of UDP leads to is made over TCP, permitted for the relay alone, and ends with it",
    async (gateway) => {
      const { controller, host } = gateway;
      noUdp(host);
      host.relays.faults.set("192.0.2.1:443", "refused");
      await controller.connect(RELAYED);
      const by = { transport: "udp2tcp", port: 80 };
      expect(await controller.status("custom")).toMatchObject({ connected: true, ip: "192.0.2.1", ...by });
      const mark = `fwmark 0x134d/0x1fff iif lo dport 80 lookup main`;
      expect(host.table).toContain("ip daddr 192.0.2.1 tcp dport 80 accept");
      expect(serversIn(host.table)).toEqual([]);
      expect(host.rules["-4"]).toContain(`priority 21 to 192.0.2.1/32 ipproto 6 ${mark}`);
      expect([...host.relays.opened.values()]).toEqual([
        { mark: 0x134d, address: "192.0.2.1", port: 80, way: { by: "udp2tcp" } },
      ]);
      // What has worked is tried first.
      const asked: string[] = [];
      host.onEvent = (event) => void (event.startsWith("wg setconf") && asked.push(event));
      await controller.connect(TWO);
      await settled(gateway);
      expect(host.relays.opened.size).toBe(0);
      expect(host.table).not.toContain("tcp dport 80 accept");
      asked.length = 0;
      await controller.connect(RELAYED);
      expect([asked.length, await controller.status("custom")]).toMatchObject([1, by]);
      await settled(gateway);
      await controller.disconnect();
      expect(host.relays.opened.size).toBe(0);
      expect(host.rules["-4"].filter((rule) => rule.includes("0x134d"))).toEqual([]);
      expect(stoodAlways(host)).toBe(true);
    },
  );

  claim("to a server that only a hidden header leads to is made by LWO, with both keys", async (gateway) => {
    const { controller, host } = gateway;
    noUdp(host);
    const hiding: Server = { ...RELAYED, offers: { ...RELAYED.offers, lwo: true } };
    await controller.connect(hiding);
    const by = { transport: "lwo", port: 51_820, blocked: "wireguard" };
    expect(await controller.status("custom")).toMatchObject({ connected: true, ...by });
    expect(host.table).toContain("== 0x0000134d ip daddr 192.0.2.1 udp dport 51820 accept");
    expect(host.table).not.toContain("ip daddr 192.0.2.1 tcp dport");
    const { interface: own, peer } = ONE.config;
    expect([...host.relays.opened.values()]).toEqual([
      {
        ...{ mark: 0x134d, address: "192.0.2.1", port: 51_820 },
        way: { by: "lwo", serverKey: peer.publicKey, ownKey: publicKeyOf(own.privateKey) },
      },
    ]);
    // The same server in the same way: no second relay.
    await controller.connect(hiding);
    expect(host.relays.opened.size).toBe(1);
    await controller.disconnect();
    expect(host.relays.opened.size).toBe(0);
    expect(stoodAlways(host)).toBe(true);
  });

  claim("of many ways tries each of them, and ends within half a minute", async ({ controller, host }) => {
    for (const port of [51_820, 443, 53, 30_026]) host.silent.add(`192.0.2.1:${port}`);
    for (const port of [51_820, 443, 80, 5001]) host.relays.faults.set(`192.0.2.1:${port}`, "silent");
    const many: Server = { ...ONE, ports: [[53, 60_000]], offers: { lwo: true, udp2tcp: [443, 80, 5001] } };
    const begun = host.monotonic();
    await expect(controller.connect(many)).rejects.toMatchObject({
      code: "no_answer",
      message: expect.stringContaining(
        "by UDP at any of its ports 51820, 443, 53, 30026, nor by lwo at any of its UDP ports 51820, 443, nor by udp2tcp at any of its TCP ports 443, 80, 5001",
      ),
    });
    const tookMs = host.monotonic() - begun;
    expect(tookMs).toBeGreaterThan(25_000);
    // In this clock, the kernel's report of each change of the firewall takes a second.
    expect(tookMs).toBeLessThan(31_000);
  });

  claim("whose interface goes before it has its relay leaves no relay", async ({ controller, host }) => {
    once(
      host,
      (event) => event.startsWith("wg setconf"),
      () => {
        expect(host.relays.opened.size).toBe(1);
        host.links.delete("wg0");
      },
    );
    await expect(controller.connect({ ...RELAYED, transport: "udp2tcp" })).rejects.toThrow("No such device");
    expect(host.relays.opened.size).toBe(0);
  });

  claim("over TCP is not tried where only plain WireGuard was asked for", async ({ controller, host }) => {
    noUdp(host);
    await expect(controller.connect({ ...RELAYED, transport: "plain" })).rejects.toMatchObject({
      code: "no_answer",
      message: expect.stringContaining("by UDP at any of its ports 51820, 443: is it up"),
    });
    expect(host.relays.opened.size).toBe(0);
  });

  claim("that nothing leads to says everything that was tried", async ({ controller, host }) => {
    noUdp(host);
    for (const port of [443, 80]) host.relays.faults.set(`192.0.2.1:${port}`, "refused");
    await expect(controller.connect(RELAYED)).rejects.toMatchObject({
      code: "no_answer",
      message: expect.stringContaining(
        "by UDP at any of its ports 51820, 443, nor by udp2tcp at any of its TCP ports 443, 80",
      ),
    });
    expect(host.relays.opened.size).toBe(0);
  });

  claim("ends at a login page, and does not try what is left", async ({ controller, host }) => {
    noUdp(host);
    host.relays.faults.set("192.0.2.1:443", "foreign");
    await expect(controller.connect(RELAYED)).rejects.toMatchObject({
      code: "no_answer",
      message: expect.stringContaining("something else answers in its place at TCP port 443"),
    });
  });

  claim("that fails with an unexpected error never shows the key that the error quotes", async (gateway) => {
    const { controller, host, log } = gateway;
    const { privateKey } = ONE.config.interface;
    host.onEvent = (event) => {
      if (/^(wg setconf|ip -j link)/.test(event)) throw new TypeError(`unexpected ${privateKey} in ${event}`);
    };
    await expect(controller.connect(ONE)).rejects.toThrow(TypeError);
    expect((await controller.status("custom")).error).toBe("unexpected (a key) in wg setconf wg0 /dev/stdin");
    expect(await gateway.tunnels.protection.fault()).toContain("unexpected (a key) in ip -j link show");
    expect(log.join("\n")).toContain("unexpected (a key) in ip -j link show");
    expect(log.join("\n")).not.toContain(privateKey);
  });

  claim("to a silent server leaves the former tunnel as it was", async ({ controller, host }) => {
    await controller.connect(ONE);
    const before = kernelState(host);
    host.silent.add(ENDPOINT.two);
    await expect(controller.connect(TWO)).rejects.toThrow("did not answer");
    expect(kernelState(host)).toBe(before);
    expect(await controller.status("custom")).toMatchObject({ connected: true, server: "one" });
  });

  claim("to the server that is connected runs no command", async (gateway) => {
    const { controller, host } = gateway;
    await controller.connect(ONE);
    await settled(gateway);
    const before = host.commands.length;
    await controller.connect(ONE);
    expect(host.commands.slice(before)).toEqual([]);
  });

  claim(
    "to a server that is being dialled already waits for the same outcome",
    async ({ controller, host }) => {
      await Promise.all([controller.connect(ONE), controller.connect(ONE)]);
      expect(host.commands.filter((command) => command.startsWith("wg setconf"))).toHaveLength(1);
    },
  );

  claim(
    "shakes hands only once the firewall lets it: a first packet that is stopped comes again after 5 s",
    async ({ controller, host }) => {
      host.turns = (command) => (command.startsWith("nft") ? 500 : 1);
      let permitted: boolean | undefined;
      host.onEvent = (event) => {
        if (event.startsWith("wg setconf") || event === "uapi set") {
          permitted = serversIn(host.table).includes(ENDPOINT.one);
        }
      };
      await controller.connect(ONE);
      expect(permitted).toBe(true);
    },
  );

  claim("shakes hands before the rest of the firewall's table is there", async ({ controller, host }) => {
    host.turns = (command) => (command.startsWith("nft -e") ? 500 : 1);
    let isWhole: boolean | undefined;
    host.onEvent = (event) => {
      if (event.startsWith("wg setconf") || event === "uapi set") isWhole = host.table?.includes("into_wg0");
    };
    await controller.connect(ONE);
    expect(isWhole).toBe(false);
    expect(host.table).toContain("into_wg0");
  });

  claim("that the firewall refuses leaves no permission and no interface behind", async (gateway) => {
    const { controller, host } = gateway;
    host.fails = () => (host.commands.at(-1)?.startsWith("nft -e") ? "before" : null);
    await expect(controller.connect(ONE)).rejects.toMatchObject({ code: "kernel_refused" });
    await settled(gateway);
    expect([serversIn(host.table), tunnelLinks(host)]).toEqual([[], []]);
  });

  claim(
    "whose program cannot be started is refused, and nothing else happens",
    async ({ controller, host }) => {
      await controller.connect(ONE);
      await controller.disconnect();
      host.fails = () => (host.commands.at(-1)?.startsWith("ip -batch") ? "before" : null);
      await expect(controller.connect(TWO)).rejects.toMatchObject({ code: "kernel_refused" });
      host.fails = () => null;
      await controller.connect(TWO);
    },
  );

  claim("waits for the whole table if the sets of servers were altered", async ({ controller, host }) => {
    host.fails = () => (host.commands.at(-1) === CHANGE_ELEMENTS ? "before" : null);
    let permitted: boolean | undefined;
    host.onEvent = (event) => {
      if (event.startsWith("wg setconf") || event === "uapi set")
        permitted = serversIn(host.table).includes(ENDPOINT.one);
    };
    await controller.connect(ONE);
    expect(permitted).toBe(true);
  });

  claim("works where WireGuard is a program", async ({ controller, host }) => {
    host.native = false;
    await controller.connect(ONE);
    expect(host.links.get("wg0")?.userspace).toBe(true);
    expect(await controller.status("custom")).toMatchObject({ connected: true, server: "one" });
  });

  claim("loses to a disconnect that comes while it is under way", async ({ controller, host }) => {
    const before = kernelState(host);
    host.silent.add(ENDPOINT.one);
    const hungUp = Promise.withResolvers<void>();
    once(
      host,
      (event) => event === "sleep",
      () => controller.disconnect().then(hungUp.resolve, hungUp.reject),
    );
    await expect(controller.connect(ONE)).rejects.toMatchObject({
      code: "interrupted",
      message: "interrupted by a disconnect",
    });
    await hungUp.promise;
    expect(kernelState(host)).toBe(before);
    expect(await controller.status("custom")).toMatchObject({ state: "disconnected", error: null });
  });

  claim("to another server interrupts one that is under way", async (gateway) => {
    const { controller, host } = gateway;
    host.silent.add(ENDPOINT.one);
    const second = Promise.withResolvers<void>();
    once(
      host,
      (event) => event === "sleep",
      () => controller.connect(TWO).then(second.resolve, second.reject),
    );
    await expect(controller.connect(ONE)).rejects.toMatchObject({
      code: "interrupted",
      message: "interrupted by a connect to two",
    });
    await second.promise;
    await settled(gateway);
    expect(tunnelLinks(host)).toHaveLength(1);
    expect(await controller.status("custom")).toMatchObject({ connected: true, server: "two" });
  });

  claim("that answered stays connected though the former link cannot be removed", async (gateway) => {
    const { controller, host } = gateway;
    await controller.connect(ONE);
    host.fails = () => (host.commands.at(-1) === "ip link del dev wg0" ? "before" : null);
    await controller.connect(TWO);
    await settled(gateway);
    expect(await gateway.status()).toMatchObject({ connected: true, server: "two" });
    expect(await gateway.tunnels.protection.fault()).not.toBeNull();
    host.fails = () => null;
    await gateway.look();
    expect(tunnelLinks(host)).toEqual(["wg1"]);
    expect(await gateway.tunnels.protection.fault()).toBeNull();
  });
});

describe("a restart", () => {
  claim("takes over the live tunnel", async (gateway) => {
    await gateway.controller.connect(ONE);
    await gateway.controller.connect(TWO);
    await settled(gateway);
    const before = kernelState(gateway.host);
    const { since } = gateway.savedState.connection() ?? {};
    await gateway.restart();
    expect(kernelState(gateway.host)).toBe(before);
    expect(gateway.savedState.connection()?.since).toBe(since ?? 0);
    expect(await gateway.status()).toMatchObject({ connected: true, server: "two", ip: "192.0.2.2" });
  });

  claim("clears a tunnel link to a server that it does not know", async (gateway) => {
    const before = kernelState(gateway.host);
    await gateway.controller.connect({
      ...ONE,
      name: "gone",
      config: { ...ONE.config, peer: TWO.config.peer },
    });
    await gateway.restart();
    expect(kernelState(gateway.host)).toBe(before);
    expect(await gateway.status()).toMatchObject({ connected: false, state: "disconnected" });
  });

  claim(
    "ends in order after a crash at any command of a connect, a switch and a probe",
    async () => {
      await inDirectory(async (directory) => {
        for (const crash of places()) {
          const gateway = await Gateway.started(join(directory, `crash${crash}`));
          const { host } = gateway;
          const start = host.commands.length;
          host.fails = (count) => (count - start >= crash ? "before" : null);
          await gateway.controller.connect(ONE).catch(() => {});
          await gateway.controller.connect(TWO).catch(() => {});
          await gateway.controller.connect(ELSEWHERE).catch(() => {});
          await settled(gateway);
          const isOver = host.commands.length - start < crash;
          host.fails = () => null;
          await gateway.restart();
          await gateway.comeToRest();
          const fresh = await freshState(await gateway.status());
          expect(kernelState(host), `crash at ${crash}`).toBe(fresh);
          expect(stoodAlways(host)).toBe(true);
          if (isOver) break;
        }
      });
    },
    sampled.test,
  );
});

describe("a dead session", () => {
  claim(
    "is reconnecting, keeps its routes, and is connected again when the server answers",
    async (gateway) => {
      const { controller, host } = gateway;
      await controller.connect(ONE);
      const seen: string[] = [];
      controller.onChange(() => void gateway.status().then(({ state }) => seen.push(state)));
      await gateway.look();
      expect((await gateway.status()).state).toBe("connected");
      host.silent.add(ENDPOINT.one);
      await host.sleep(181_000);
      await gateway.look().catch(() => {});
      expect(await gateway.status()).toMatchObject({ connected: false, state: "reconnecting", server: "" });
      expect([...host.routes.values()]).toEqual(["wg0", "wg0"]);
      host.silent.clear();
      await host.sleep(61_000);
      await gateway.look();
      expect(await gateway.status()).toMatchObject({ connected: true, server: "one", error: null });
      expect(await gateway.tunnels.protection.fault()).toBeNull();
      expect(stoodAlways(host)).toBe(true);
    },
  );
});

describe("the operator's switch", () => {
  claim("taken down leaves no table, and taken up again closes the gateway", async (gateway) => {
    const { host } = gateway;
    const before = kernelState(host);
    await gateway.operatorSwitch.turn(false);
    expect(host.table).toBeNull();
    expect(host.rules["-4"]).toEqual([]);
    expect(await gateway.tunnels.killSwitch.stands()).toBe(false);
    await gateway.operatorSwitch.turn(true);
    expect(kernelState(host)).toBe(before);
    expect(await gateway.tunnels.killSwitch.stands()).toBe(true);
  });

  claim("taken up while a connect is in progress, it closes the gateway at once", async (gateway) => {
    const { controller, host } = gateway;
    await gateway.operatorSwitch.turn(false);
    host.silent.add(ENDPOINT.one);
    const connecting = controller.connect(ONE).catch(() => "in vain");
    const up = gateway.operatorSwitch.turn(true);
    const { killSwitch } = gateway.tunnels;
    while (!(await killSwitch.stands()) && controller.state.name !== "failed") await Promise.resolve();
    expect(controller.state.name).toBe("connecting");
    await host.pass(60_000);
    await Promise.all([connecting, up]);
    expect(await gateway.tunnels.killSwitch.stands()).toBe(true);
  });
});

describe("the operator's switch, asked twice during a connect,", () => {
  claim("is never down after it was taken up again", async (gateway) => {
    const { controller, host } = gateway;
    host.silent.add(ENDPOINT.one);
    const connecting = controller.connect(ONE).catch(() => "in vain");
    const down = gateway.operatorSwitch.turn(false);
    const up = gateway.operatorSwitch.turn(true);
    await expect(down).rejects.toMatchObject({ code: "interrupted" });
    await Promise.all([connecting, up]);
    expect(stoodAlways(host)).toBe(true);
  });
});

describe("the lookup of a server's name", () => {
  const NAMED = {
    ...ONE,
    config: { ...ONE.config, peer: { ...ONE.config.peer, endpoint: { host: "vpn.example", port: 51820 } } },
  };

  claim("opens one port for the question and closes it again", async (gateway) => {
    const { controller, host } = gateway;
    host.files.set("/etc/resolv.conf", "nameserver 192.168.7.254\n");
    host.names.set("vpn.example", ["192.0.2.1"]);
    let during = "";
    once(
      host,
      (event) => event === "lookup vpn.example",
      () => {
        during = `${host.rules["-4"].join("\n")}\n${host.table}`;
      },
    );
    await controller.connect(NAMED);
    await settled(gateway);
    expect(during).toMatch(
      /priority 30 to 192\.168\.7\.254\/32 ipproto 17 iif lo sport 2\d{4} dport 53 lookup main/,
    );
    expect(during).toMatch(/oifname "up0" ip daddr 192\.168\.7\.254 udp sport 2\d{4} udp dport 53 accept/);
    expect(kernelState(host)).not.toContain("priority 30");
    expect(kernelState(host)).not.toMatch(/udp sport 2\d{4} udp dport 53 accept/);
    expect(stoodAlways(host)).toBe(true);
  });

  claim("that fails leaves the gateway blocked", async ({ controller, host }) => {
    const before = kernelState(host);
    host.files.set("/etc/resolv.conf", "nameserver 192.168.7.254\n");
    await expect(controller.connect(NAMED)).rejects.toThrow("no resolver answered for vpn.example");
    expect(kernelState(host)).toBe(before);
  });
});

const SCENARIOS: Record<
  string,
  { before: (g: Gateway) => Promise<void>; run: (g: Gateway) => Promise<void> }
> = {
  connect: { before: async () => {}, run: (g) => g.controller.connect(ONE) },
  switch: { before: (g) => g.controller.connect(ONE), run: (g) => g.controller.connect(TWO) },
  "switch to a silent server": {
    before: async (g) => {
      g.host.silent.add(ENDPOINT.two);
      await g.controller.connect(ONE);
    },
    run: (g) => g.controller.connect(TWO),
  },
  "connect to a place": { before: async () => {}, run: (g) => g.controller.connect(placeOf(SERVERS)) },
  "switch to a place": {
    before: (g) => g.controller.connect(ONE),
    run: (g) => g.controller.connect(ELSEWHERE),
  },
  disconnect: { before: (g) => g.controller.connect(ONE), run: (g) => g.controller.disconnect() },
  "redial of a dead session": {
    before: async (g) => {
      await g.controller.connect(ONE);
      g.host.silent.add(ENDPOINT.one);
      await g.host.sleep(181_000);
      await g.look().catch(() => {});
      await g.host.sleep(61_000);
      g.host.silent.clear();
    },
    run: (g) => g.look(),
  },
};

sampled.describe.each(["before", "after"] as const)("a command that fails %s its effect", (when) => {
  test.each(Object.keys(SCENARIOS))("at any place of a %s is repaired, and the kill switch stands", (name) =>
    inDirectory(async (directory) => {
      const scenario = SCENARIOS[name];
      if (scenario === undefined) throw new Error(name);
      for (const failing of places()) {
        const label = `${name}, command ${failing}`;
        const gateway = await Gateway.started(join(directory, `${failing}`));
        const { host } = gateway;
        await scenario.before(gateway);
        await settled(gateway);
        const start = host.commands.length;
        host.fails = (count) => (count - start === failing ? when : null);
        await scenario.run(gateway).catch(() => {});
        await settled(gateway);
        const isOver = host.commands.length - start < failing;
        host.fails = () => null;
        await assertHonest(gateway, label);
        await gateway.comeToRest();
        const fresh = await freshState(await gateway.status());
        expect(kernelState(host), label).toBe(fresh);
        expect(await gateway.tunnels.protection.fault(), label).toBeNull();
        expect(stoodAlways(host), label).toBe(true);
        if (isOver) break;
      }
    }),
  );

  test("at any place of a start is repaired by the next start, and an older kill switch stands on", () =>
    inDirectory(async (directory) => {
      for (const failing of places()) {
        const gateway = await Gateway.started(join(directory, `${failing}`));
        const { host } = gateway;
        await gateway.controller.connect(ONE);
        const start = host.commands.length;
        host.fails = (count) => (count - start === failing ? when : null);
        await gateway.restart().catch(() => {});
        const isOver = host.commands.length - start < failing;
        host.fails = () => null;
        await gateway.restart();
        const fresh = await freshState(await gateway.status());
        expect(kernelState(host), `command ${failing}`).toBe(fresh);
        expect(stoodAlways(host)).toBe(true);
        if (isOver) break;
      }
    }));
});

/** Either the kernel is as the state wants it, or the gateway says that it is not. */
async function assertHonest(gateway: Gateway, label: string): Promise<void> {
  const status = await gateway.status();
  if (status.state === "reconnecting") return;
  const asWanted = kernelState(gateway.host) === (await freshState(status));
  if (!asWanted) expect(await gateway.tunnels.protection.fault(), `${label}: a fault is told`).not.toBeNull();
}

/** The queue is empty: what goes on after a connect's answer is over. */
async function settled({ host }: Gateway): Promise<void> {
  await host.pass(0);
}
