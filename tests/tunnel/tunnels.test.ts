import { describe, expect } from "bun:test";
import { messageOf } from "../../src/base/errors.ts";
import { nextTurn } from "../../src/base/queue.ts";
import type { Controller } from "../../src/tunnel/controller.ts";
import { setconfText } from "../../src/wireguard/interface.ts";
import { ip } from "../fake/address.ts";
import { places, sampled, slow } from "../fast.ts";
import { inDirectory } from "../tunnel/directory.ts";
import { Gateway, kernelState, ONE, placeOf, server, stoodAlways, THREE, TWO } from "../tunnel/gateway.ts";

const { test } = slow;

const PATIENCE_MS = 60_000;
const MINUTE_MS = 60_000;
const TWO_AT = "192.0.2.2:51820";

/** A test with a gateway that is watched and whose main is connected to server one; time goes by in `host.pass` alone. */
function claim(text: string, work: (gateway: Gateway) => Promise<void>, run: typeof test = test): void {
  run(
    text,
    () =>
      inDirectory(async (directory) => {
        const gateway = await Gateway.watched(directory);
        await settled(gateway, gateway.controller.connect(ONE));
        await work(gateway);
      }),
    PATIENCE_MS,
  );
}

/** Time goes by until the work is done. */
async function settled<T>({ host }: Gateway, work: Promise<T>): Promise<T> {
  let done = false;
  const end = work.finally(() => {
    done = true;
  });
  end.catch(() => {});
  while (!done) await host.pass(100);
  return end;
}

async function opened(gateway: Gateway, name: string): Promise<Controller> {
  return (await gateway.tunnels.opened(name)).controller;
}

/** A WireGuard interface as wg-quick makes it, with two peers. */
async function strangers(host: Gateway["host"], link: string): Promise<void> {
  await host.run(["ip", "-batch", "-"], { stdin: `link add dev ${link} type wireguard\n` });
  const own = { privateKey: ONE.config.interface.privateKey, fwmark: 0xca6c };
  const peers = [TWO, THREE].map(({ config: { peer } }) => ({
    ...{ config: peer, keepalive: 0 },
    endpoint: { address: ip("198.51.100.9"), port: 51820 },
  }));
  await host.run(["wg", "setconf", link, "/dev/stdin"], { stdin: setconfText(own, peers) });
}

/** How many interfaces have had one key towards one server at once since then. */
function mostWithOneKey(host: Gateway["host"]): () => number {
  let most = 0;
  host.onEvent = () => {
    const keys = [...host.links.values()].flatMap(({ device }) =>
      device === null
        ? []
        : [device.peer, ...device.others].flatMap((peer) =>
            peer === null ? [] : `${device.privateKey} at ${peer.publicKey}`,
          ),
    );
    most = Math.max(most, ...keys.map((key) => keys.filter((each) => each === key).length));
  };
  return () => most;
}

/** The commands from now on, without those that only read. */
function changesOn({ host }: Gateway): () => string[] {
  const before = host.commands.length;
  return () => host.commands.slice(before).filter((command) => !/ show|list|^ip -j/.test(command));
}

describe("a second tunnel", () => {
  claim("has interfaces, routes and a mark of its own, and main's stay", async (gateway) => {
    const { host } = gateway;
    const mains = [...host.routes];
    await settled(gateway, (await opened(gateway, "tv")).connect(TWO));
    expect([...host.links.keys()]).toEqual(["lo", "lan0", "up0", "wg0", "wg2"]);
    expect([...host.routes]).toEqual(mains);
    expect([...(host.routingTables.get(20557)?.values() ?? [])]).toEqual(["wg2", "wg2"]);
    expect(host.links.get("wg2")?.device?.fwmark).toBe(0x114c);
    expect(stoodAlways(host)).toBe(true);
  });

  claim("that never had a server is removed as soon as the kernel allows it", async (gateway) => {
    const { host, tunnels } = gateway;
    const before = kernelState(host);
    host.silent.add(TWO_AT);
    const tv = await tunnels.opened("tv");
    let isRefused = true;
    host.fails = (count) =>
      isRefused && host.commands[count - 1] === "ip link del dev wg2" ? "before" : null;
    await expect(settled(gateway, tv.controller.connect(TWO))).rejects.toThrow("did not answer");
    await expect(settled(gateway, tunnels.dropUnused(tv))).rejects.toThrow("could not be removed");
    await host.pass(10_000);
    expect(tunnels.all().map(({ name }) => name)).toEqual(["main", "tv"]);
    isRefused = false;
    await host.pass(10_000);
    expect(tunnels.all().map(({ name }) => name)).toEqual(["main"]);
    expect(kernelState(host)).toBe(before);
  });

  claim("that never had a server stays if a device was given it meanwhile", async (gateway) => {
    const { host, tunnels, devices } = gateway;
    host.silent.add(TWO_AT);
    const tv = await tunnels.opened("tv");
    await devices.assign("02:00:00:00:00:20", { exit: "tv" });
    await expect(settled(gateway, tv.controller.connect(TWO))).rejects.toThrow("did not answer");
    await expect(settled(gateway, tunnels.dropUnused(tv))).rejects.toThrow("is the exit of");
    expect(tunnels.all().map(({ name }) => name)).toEqual(["main", "tv"]);
    await devices.assign("02:00:00:00:00:20", { exit: null });
    await settled(gateway, tunnels.dropUnused(tv));
    expect(tunnels.all().map(({ name }) => name)).toEqual(["main"]);
  });

  claim("that never had a server is not removed later if it has one by then", async (gateway) => {
    const { host, tunnels } = gateway;
    const tv = await tunnels.opened("tv");
    host.silent.add(TWO_AT);
    let isRefused = true;
    host.fails = (count) =>
      isRefused && host.commands[count - 1] === "ip link del dev wg2" ? "before" : null;
    await settled(gateway, tv.controller.connect(TWO)).catch(() => {});
    await settled(gateway, tunnels.dropUnused(tv)).catch(() => {});
    isRefused = false;
    await settled(gateway, tv.controller.repair());
    await settled(gateway, tv.controller.connect(THREE));
    await host.pass(10_000);
    expect(tunnels.all().map(({ name, controller }) => [name, controller.state.name])).toEqual([
      ["main", "connected"],
      ["tv", "connected"],
    ]);
  });

  claim("that is removed leaves the kernel as it was, and its slot is free", async (gateway) => {
    const { host, tunnels } = gateway;
    const before = kernelState(host);
    for (let times = 0; times < 10; times++) {
      await settled(gateway, (await opened(gateway, `tv-${times}`)).connect(TWO));
      await settled(gateway, tunnels.remove(`tv-${times}`));
      expect(kernelState(host)).toBe(before);
    }
    expect(gateway.savedState.tunnels().size).toBe(0);
  });

  claim("keeps its slot if the kernel keeps its interface, and can be removed later", async (gateway) => {
    const { host, tunnels } = gateway;
    await settled(gateway, (await opened(gateway, "tv")).connect(TWO));
    host.fails = (count) => (host.commands[count - 1] === "ip link del dev wg2" ? "before" : null);
    gateway.savedState.saveQuantum("require", "tv");
    await expect(settled(gateway, tunnels.remove("tv"))).rejects.toThrow("made to fail");
    expect(gateway.savedState.quantum("tv")).toBe("require");
    expect(tunnels.all().map(({ name }) => name)).toEqual(["main", "tv"]);
    const other = await tunnels.opened("other");
    expect(other.slot.links).toEqual(["wg4", "wg5"]);
    host.fails = () => null;
    await settled(gateway, tunnels.remove("tv"));
    expect(host.links.has("wg2")).toBe(false);
    expect((await tunnels.opened("again")).slot.links).toEqual(["wg2", "wg3"]);
  });

  claim("cannot be connected any more once it is being removed", async (gateway) => {
    const controller = await opened(gateway, "tv");
    const removed = gateway.tunnels.remove("tv");
    await nextTurn();
    await expect(controller.connect(TWO)).rejects.toThrow("the tunnel is being removed");
    await settled(gateway, removed);
  });

  claim("whose connect arrives while it is being removed is not saved again", async (gateway) => {
    const { host, tunnels, savedState } = gateway;
    // The removal begins so many steps after the routes are made, which is the last command of a connect.
    for (let steps = 0; steps < 20; steps++) {
      const tv = await opened(gateway, "tv");
      const removed = Promise.withResolvers<void>();
      let hasAnswered = false;
      host.onEvent = async (event) => {
        if (event.startsWith("wg show")) hasAnswered = true;
        if (!hasAnswered || event !== "ip -batch -") return;
        host.onEvent = () => {};
        for (let step = 0; step < steps; step++) await null;
        tunnels.remove("tv").then(removed.resolve, removed.reject);
      };
      tv.connect(TWO).catch(() => {});
      await settled(gateway, removed.promise);
      expect([steps, savedState.tunnels().size]).toEqual([steps, 0]);
    }
  });

  claim("removed by two requests at once leaves a new one of its name alone", async (gateway) => {
    const { tunnels } = gateway;
    await settled(gateway, (await opened(gateway, "tv")).connect(TWO));
    const [first, second] = [tunnels.remove("tv"), tunnels.remove("tv")];
    const made = first.then(() => opened(gateway, "tv"));
    await settled(gateway, Promise.all([second, made]));
    const tv = await made;
    await settled(gateway, tv.connect(THREE));
    expect(tunnels.named("tv").controller).toBe(tv);
    expect(tv.state.name).toBe("connected");
    expect(gateway.savedState.tunnels().size).toBe(1);
  });

  claim("does not take a slot whose interface belongs to another program", async (gateway) => {
    const { host, tunnels } = gateway;
    await host.run(["ip", "-batch", "-"], { stdin: "link add dev wg3 type wireguard\n" });
    expect((await tunnels.opened("tv")).slot.links).toEqual(["wg4", "wg5"]);
  });

  claim("made by two requests at once is one, and two of them have two slots", async ({ tunnels }) => {
    const names = ["tv", "tv", "work", "tv"];
    const made = await Promise.all(names.map((name) => tunnels.opened(name)));
    expect(new Set(made).size).toBe(2);
    expect(new Set(made.map(({ slot }) => slot.table)).size).toBe(2);
  });
});

describe("a tunnel that devices use", () => {
  const TV = "02:00:00:00:00:20";
  const names = ({ tunnels }: Gateway) => tunnels.all().map(({ name }) => name);
  const NO_TV = "exit: there is no such tunnel; the exits are main, blocked";
  const USED = `name: tv is the exit of ${TV}; choose another exit for them first`;

  claim("is not removed, nor is the default exit", async (gateway) => {
    const { devices, tunnels } = gateway;
    await opened(gateway, "tv");
    for (let number = 0; number < 7; number++)
      await devices.assign(`02:00:00:00:00:0${number}`, { name: `Lamp ${number}`, exit: "tv" });
    await expect(tunnels.remove("tv")).rejects.toThrow(
      "name: tv is the exit of Lamp 0 (02:00:00:00:00:00), Lamp 1 (02:00:00:00:00:01), Lamp 2 (02:00:00:00:00:02), Lamp 3 (02:00:00:00:00:03), Lamp 4 (02:00:00:00:00:04) and 2 more; choose another exit for them first",
    );
    for (let number = 0; number < 7; number++) await devices.forget(`02:00:00:00:00:0${number}`);
    await devices.setDefaultExit("tv");
    await expect(tunnels.remove("tv")).rejects.toThrow(
      "name: tv is the default exit; choose another one first: portcullis default-exit main",
    );
    await devices.setDefaultExit("main");
    expect(names(gateway)).toEqual(["main", "tv"]);
    await settled(gateway, tunnels.remove("tv"));
    expect(names(gateway)).toEqual(["main"]);
  });

  claim("is not removed if a device is given it just before", async (gateway) => {
    await opened(gateway, "tv");
    const assigned = gateway.devices.assign(TV, { exit: "tv" });
    await expect(settled(gateway, gateway.tunnels.remove("tv"))).rejects.toThrow(USED);
    await assigned;
    expect(names(gateway)).toEqual(["main", "tv"]);
  });

  claim("cannot be given to a device while it is removed", async (gateway) => {
    await settled(gateway, (await opened(gateway, "tv")).connect(TWO));
    let assigned: Promise<void> | undefined;
    gateway.host.onEvent = (event) => {
      if (!event.includes("link del dev wg2")) return;
      assigned = gateway.devices.assign(TV, { exit: "tv" });
      assigned.catch(() => {});
    };
    await settled(gateway, gateway.tunnels.remove("tv"));
    await expect(assigned).rejects.toThrow(NO_TV);
    expect(gateway.store.devices()).toEqual([]);
  });

  claim(
    "is not removed while a device leaves it, if the kernel then keeps the device there",
    async (gateway) => {
      const { devices, host, tunnels } = gateway;
      await opened(gateway, "tv");
      await devices.assign(TV, { exit: "tv" });
      const update = tunnels.killSwitch.update.bind(tunnels.killSwitch);
      tunnels.killSwitch.update = () => host.sleep(50).then(() => Promise.reject(new Error("made to fail")));
      const moved = devices.assign(TV, { exit: "blocked" });
      await nextTurn();
      const removed = tunnels.remove("tv");
      const outcomes = await settled(gateway, Promise.allSettled([moved, removed]));
      tunnels.killSwitch.update = update;
      expect(outcomes.map(({ status }) => status)).toEqual(["rejected", "rejected"]);
      await expect(removed).rejects.toThrow(USED);
    },
  );
});

describe("what happens to one tunnel", () => {
  claim("while it is dialled in vain changes nothing for main", async (gateway) => {
    const { host, controller } = gateway;
    host.silent.add(TWO_AT);
    const before = kernelState(host);
    const states: string[] = [];
    controller.onChange(({ name }) => states.push(name));
    const tv = await opened(gateway, "tv");
    await expect(settled(gateway, tv.connect(TWO))).rejects.toThrow("did not answer");
    expect(kernelState(host)).toBe(before);
    expect(states).toEqual([]);
    expect(tv.state.name).toBe("failed");
  });

  claim("does not hold up another: main moves while a second one is dialled", async (gateway) => {
    const { host, controller } = gateway;
    host.silent.add(TWO_AT);
    const dialling = (await opened(gateway, "tv")).connect(TWO);
    dialling.catch(() => {});
    await host.pass(1_000);
    const before = host.monotonic();
    await settled(gateway, controller.connect(THREE));
    expect(host.monotonic() - before).toBeLessThan(2_000);
    await expect(settled(gateway, dialling)).rejects.toThrow("did not answer");
  });

  claim("is repaired for it alone: its routes, its interface, its dead server", async (gateway) => {
    const { host, controller } = gateway;
    const tv = await opened(gateway, "tv");
    await settled(gateway, tv.connect(TWO));
    const states: string[] = [];
    controller.onChange(({ name }) => states.push(name));
    host.removeRoute("0.0.0.0/0", 20557);
    await host.pass(100);
    expect(host.routingTables.get(20557)?.get("0.0.0.0/0")).toBe("wg2");
    expect(gateway.warnings).toContain("Another program has removed routes of the tunnel tv.");
    host.removeLink("wg2");
    await host.pass(5_000);
    expect(tv.state.name).toBe("connected");
    host.silent.add(TWO_AT);
    host.busy = true;
    await host.pass(30_000);
    expect(tv.state.name).toBe("reconnecting");
    host.silent.clear();
    await host.pass(2 * MINUTE_MS);
    expect(tv.state.name).toBe("connected");
    expect(states).toEqual([]);
  });

  claim("is no matter of main's end: it stays while main is disconnected", async (gateway) => {
    const { host, controller } = gateway;
    const tv = await opened(gateway, "tv");
    await settled(gateway, tv.connect(TWO));
    await settled(gateway, controller.disconnect());
    await host.pass(MINUTE_MS);
    expect(tv.state.name).toBe("connected");
    // But a question to its own resolver, by the mark of its exit, and a reset for what comes out of it too late. What
    // leaves has its address, which is the last that is asked of it.
    const question =
      "meta mark & 0x00001fff == 0x0000114e ip daddr 10.64.0.102 udp dport 53 ct state new,established ";
    const reset = "ct state related tcp flags & rst == rst ";
    expect(host.table).toContain(`oifname "wg2" ${question}accept`);
    expect(host.table).not.toMatch(
      new RegExp(`oifname "wg2" (?!${reset}|${question}|ip6? saddr )\\S.* accept comment`),
    );
    expect(host.routes.size).toBe(0);
  });
});

claim(
  "one program watches the kernel for all tunnels, and the kill switch is checked once for all",
  async (gateway) => {
    const { host } = gateway;
    for (const [name, to] of [
      ["b", TWO],
      ["c", THREE],
    ] as const)
      await settled(gateway, (await opened(gateway, name)).connect(to));
    await host.pass(MINUTE_MS);
    const changes = changesOn(gateway);
    const before = host.commands.length;
    host.removeTable();
    await host.pass(1_000);
    expect(host.commands.slice(before).filter((command) => command.startsWith("nft -e"))).toHaveLength(1);
    expect(changes()).toHaveLength(1);
    // `nft monitor`, and `ip monitor` for routing and for neighbours.
    expect(host.watching).toBe(3);
  },
);

claim("the uplink's loss and return concern each tunnel", async (gateway) => {
  const { host, controller } = gateway;
  const tv = await opened(gateway, "tv");
  await settled(gateway, tv.connect(TWO));
  host.plug(false);
  await host.pass(1_000);
  expect([controller.state.name, tv.state.name]).toEqual(["reconnecting", "reconnecting"]);
  host.plug(true);
  await host.pass(3_000);
  expect([controller.state.name, tv.state.name]).toEqual(["connected", "connected"]);
});

describe("two tunnels to one server with one key", () => {
  const alias = { ...ONE, name: "alias" };

  claim("are refused, whatever the server is called", async (gateway) => {
    const tv = await opened(gateway, "tv");
    await expect(settled(gateway, tv.connect(alias))).rejects.toThrow(
      "server: the main tunnel leads there with the same key; choose another server, or one with a key of its own",
    );
    expect(tv.state.name).toBe("disconnected");
    const ownKey = server("one", 1);
    ownKey.config.interface = { ...ownKey.config.interface, privateKey: THREE.config.interface.privateKey };
    await settled(gateway, tv.connect(ownKey));
  });

  claim("are never in the kernel at once, also while the first one leaves the server", async (gateway) => {
    const { host, controller } = gateway;
    const tv = await opened(gateway, "tv");
    await settled(gateway, tv.connect(TWO));
    await gateway.restart();
    gateway.watch();
    const most = mostWithOneKey(host);
    await settled(gateway, (await opened(gateway, "tv")).connect(THREE));
    await settled(gateway, gateway.controller.connect(TWO));
    expect(host.links.get("wg2")?.device?.peer).toBeNull();
    expect(most()).toBe(1);
    expect(controller.state.name).toBe("connected");
  });

  claim(
    "are never in the kernel at once, also after the first one was led elsewhere in vain",
    async (gateway) => {
      const { host, controller } = gateway;
      const most = mostWithOneKey(host);
      const tv = await opened(gateway, "tv");
      host.silent.add(TWO_AT);
      const inVain = tv.connect(TWO).catch(messageOf);
      await host.pass(1_000);
      host.silent.clear();
      // The interface of the attempt stays for as long as this.
      const { promise, resolve } = Promise.withResolvers<void>();
      host.holds = (command) => (command === "ip link del dev wg2" ? promise : null);
      const elsewhere = tv.connect(THREE);
      await host.pass(1_000);
      await settled(gateway, controller.connect(TWO));
      expect([...host.links.keys()]).toContain("wg2");
      expect(most()).toBe(1);
      resolve();
      await settled(gateway, elsewhere);
      expect(await inVain).toBe("interrupted by a connect to three");
    },
  );

  claim("are refused too if both are asked for at once", async (gateway) => {
    const [b, c] = [await opened(gateway, "b"), await opened(gateway, "c")];
    const both = Promise.allSettled([b.connect(TWO), c.connect({ ...TWO, name: "alias" })]);
    const outcomes = await settled(gateway, both);
    expect(outcomes.map(({ status }) => status).toSorted()).toEqual(["fulfilled", "rejected"]);
  });

  claim("are avoided if both are asked for one place at once, while it is measured too", async (gateway) => {
    const { host } = gateway;
    host.roundTrips.set(TWO_AT, 40).set("192.0.2.3:51820", 60).set("192.0.2.4:51820", 20);
    const most = mostWithOneKey(host);
    const [b, c] = [await opened(gateway, "b"), await opened(gateway, "c")];
    const place = placeOf([TWO, THREE, server("four", 4)]);
    await settled(gateway, Promise.all([b.connect(place), c.connect(place)]));
    expect([(await b.row()).server, (await c.row()).server]).toEqual(["four", "two"]);
    expect(most()).toBe(1);
  });

  claim("of which one waits for the other's measurement do not hold up a disconnect", async (gateway) => {
    const { host } = gateway;
    for (const number of [2, 3, 4]) host.silent.add(`192.0.2.${number}:51820`);
    const [b, c] = [await opened(gateway, "b"), await opened(gateway, "c")];
    const place = placeOf([TWO, THREE, server("four", 4)]);
    const [measuring, waiting] = [b.connect(place), c.connect(place)].map((each) => each.catch(messageOf));
    await host.pass(1_000);
    const ended = c.disconnect();
    await host.pass(100);
    expect(await waiting).toBe("interrupted by a disconnect");
    await ended;
    expect(b.state.name).toBe("connecting");
    await host.pass(10_000);
    expect(await measuring).toContain("none of the 2 servers");
  });

  claim("are avoided by choosing another server of a place", async (gateway) => {
    const tv = await opened(gateway, "tv");
    await settled(gateway, tv.connect(placeOf([ONE, TWO])));
    expect(await tv.row()).toMatchObject({ server: "two", wanted: "Unknown", provider: "custom" });
  });
});

describe("after a restart", () => {
  claim(
    "each tunnel that is up is adopted by its name, with not one change in the kernel",
    async (gateway) => {
      await settled(gateway, (await opened(gateway, "tv")).connect(placeOf([TWO, THREE])));
      const before = kernelState(gateway.host);
      const { server: chosen } = await (await opened(gateway, "tv")).row();
      await gateway.restart();
      expect(kernelState(gateway.host)).toBe(before);
      const [main, tv] = gateway.tunnels.all();
      expect(main?.controller.state).toMatchObject({ name: "connected", session: { link: "wg0" } });
      expect(tv?.name).toBe("tv");
      expect(await tv?.controller.row()).toMatchObject({
        server: chosen,
        wanted: "Unknown",
        state: "connected",
      });
      expect(gateway.log.at(-1)).toBe(`tv: the tunnel to ${chosen} is up already: adopting it`);
    },
  );

  claim(
    "each tunnel that is gone comes back to its server, and one that never had a server does not",
    async (gateway) => {
      const { host } = gateway;
      await settled(gateway, (await opened(gateway, "tv")).connect(TWO));
      const idle = await opened(gateway, "idle");
      await settled(gateway, idle.connect(THREE));
      await settled(gateway, idle.disconnect());
      await opened(gateway, "never-connected");
      for (const link of ["wg0", "wg2"]) host.removeLink(link);
      await gateway.restart();
      gateway.watch();
      await host.pass(3_000);
      expect(gateway.tunnels.all().map(({ name, controller }) => [name, controller.state.name])).toEqual([
        ["main", "connected"],
        ["idle", "disconnected"],
        ["tv", "connected"],
      ]);
    },
  );

  claim("a second tunnel that cannot be taken up does not keep main from starting", async (gateway) => {
    const { host } = gateway;
    await settled(gateway, (await opened(gateway, "tv")).connect(TWO));
    for (const prefix of ["0.0.0.0/0", "192.0.0.0/8", "::/0"]) host.removeRoute(prefix, 20557);
    host.fails = (count) => (host.commands[count - 1] === "ip link del dev wg2" ? "before" : null);
    await gateway.restart();
    expect(gateway.controller.state.name).toBe("connected");
    expect(gateway.log.at(-1)).toContain("tv: ");
  });

  claim(
    "a tunnel that nobody remembers is removed, and an interface of another program is not",
    async (gateway) => {
      const { host } = gateway;
      await settled(gateway, (await opened(gateway, "tv")).connect(TWO));
      await strangers(host, "wg5");
      gateway.savedState.forgetTunnel("tv");
      await gateway.restart();
      expect([...host.links.keys()]).toEqual(["lo", "lan0", "up0", "wg0", "wg5"]);
    },
  );

  claim("an interface of another program with a tunnel's name is left alone", async (gateway) => {
    const { host, tunnels } = gateway;
    const tv = await opened(gateway, "tv");
    await strangers(host, "wg3");
    await settled(gateway, tv.connect(TWO));
    await expect(settled(gateway, tv.connect(THREE))).rejects.toThrow();
    expect(tv.state).toMatchObject({ name: "connected", session: { server: TWO } });
    await gateway.restart();
    expect(host.links.get("wg3")?.device?.fwmark).toBe(0xca6c);
    await settled(gateway, gateway.tunnels.remove("tv"));
    expect([...host.links.keys()]).toEqual(["lo", "lan0", "up0", "wg0", "wg3"]);
    expect(tunnels.fault).toBe(null);
  });

  claim(
    "a SIGKILL at any command of a second tunnel's life leaves main alone and nothing behind",
    async (gateway) => {
      const { host } = gateway;
      for (const command of places(40)) {
        const tv = await opened(gateway, "tv");
        let left = command;
        // The command has no effect, and the process that waits for it is gone.
        host.onEvent = () => {
          if (--left === 0) host.holds = () => new Promise(() => {});
        };
        void tv.connect(command % 2 === 0 ? TWO : placeOf([TWO, THREE])).catch(() => {});
        await host.pass(3_000);
        host.onEvent = () => {};
        gateway.reborn();
        host.holds = () => null;
        await gateway.restart();
        gateway.watch();
        await host.pass(3_000);
        const [main] = gateway.tunnels.all();
        expect(main?.controller.state).toMatchObject({ name: "connected", session: { link: "wg0" } });
        if (gateway.tunnels.all().length > 1) await settled(gateway, gateway.tunnels.remove("tv"));
        expect([command, ...host.links.keys()]).toEqual([command, "lo", "lan0", "up0", "wg0"]);
      }
      expect(stoodAlways(host)).toBe(true);
    },
    sampled.test,
  );

  for (const [what, work] of [
    ["a disconnect", (tv: Controller) => tv.disconnect()],
    ["a switch", (tv: Controller) => tv.connect(THREE)],
  ] as const)
    claim(
      `a SIGKILL at any command of ${what} leaves one server, in the kernel and saved`,
      async (gateway) => {
        const { host } = gateway;
        for (const command of places(20)) {
          const tv = await opened(gateway, "tv");
          await settled(gateway, tv.connect(TWO));
          await host.pass(3_000);
          let left = command;
          host.holds = () => (--left > 0 ? null : new Promise(() => {}));
          void work(tv).catch(() => {});
          await host.pass(3_000);
          host.holds = () => null;
          await gateway.restart();
          const { controller } = gateway.tunnels.named("tv");
          const server = "session" in controller.state ? controller.state.session?.server.name : undefined;
          expect([command, gateway.savedState.connection("tv")?.name]).toEqual([command, server]);
          gateway.watch();
          await host.pass(3_000);
        }
      },
      sampled.test,
    );

  claim(
    "a SIGKILL at any command of a removal leaves the whole tunnel or nothing of it",
    async (gateway) => {
      const { host } = gateway;
      const outcomes = new Set<string>();
      for (const command of places(20)) {
        await settled(gateway, (await opened(gateway, "tv")).connect(TWO));
        let left = command;
        host.holds = () => (--left > 0 ? null : new Promise(() => {}));
        void gateway.tunnels.remove("tv").catch(() => {});
        await host.pass(3_000);
        host.holds = () => null;
        await gateway.restart();
        gateway.watch();
        await host.pass(3_000);
        const saved = gateway.savedState.tunnels().get("tv");
        const server = saved === undefined ? "gone" : (saved.connection?.name ?? "without a server");
        outcomes.add(`${server}, ${host.links.has("wg2") ? "an interface" : "no interface"}`);
      }
      expect(outcomes).toEqual(new Set(["gone, no interface"]));
    },
    sampled.test,
  );
});
