import { describe, expect, test } from "bun:test";
import { mustParsePrefix } from "../../src/base/address.ts";
import { nextTurn } from "../../src/base/queue.ts";
import { KillSwitch } from "../../src/killswitch/killswitch.ts";
import { chainsListed, elementsOf } from "../../src/killswitch/listing.ts";
import type { Policy } from "../../src/killswitch/policy.ts";
import type { RemotePart } from "../../src/killswitch/remote-part.ts";
import { Repairs } from "../../src/killswitch/repairs.ts";
import { rulesetOf } from "../../src/killswitch/ruleset.ts";
import { cidrs, ips } from "../fake/address.ts";
import { CHANGE_ELEMENTS, FakeHost } from "../fake/host.ts";
import { runs, sampled, slow } from "../fast.ts";
import { inDirectory } from "../tunnel/directory.ts";
import { Gateway, kernelState, ONE, stoodAlways, TWO } from "../tunnel/gateway.ts";
import { assigned, EXEMPTION, FIRST, FURTHER, LOOKUP, NETWORK, POLICIES, SECOND } from "./example.ts";

const PATIENCE_MS = 180_000;
const MINUTE_MS = 60_000;

/** A test with a gateway that is watched; time passes only in `host.pass`. */
function claim(text: string, work: (gateway: Gateway) => Promise<void>, run = test): void {
  run(text, () => inDirectory(async (directory) => work(await Gateway.watched(directory))), PATIENCE_MS);
}

const LOAD = "nft -e -s -n -f -";
const LISTING = "nft -s -n list table inet portcullis";

function loadsOf(host: FakeHost, since = 0): number {
  return host.commands.slice(since).filter((command) => command === LOAD).length;
}

/** Every load of the firewall's table fails from now on. */
function refuseTables(host: FakeHost): void {
  host.fails = () => (host.commands.at(-1) === LOAD ? "before" : null);
}

interface Damage {
  what: string;
  layer: "firewall" | "routing";
  by: (host: FakeHost) => void;
}

const DAMAGES: Damage[] = [
  { what: "the removal of the table", layer: "firewall", by: (host) => host.removeTable() },
  {
    what: "a rule that lets everything out",
    layer: "firewall",
    by: (host) => host.insertRule("output", "accept"),
  },
  { what: "the removal of all its rules", layer: "firewall", by: (host) => host.flushTable() },
  {
    what: "a table that is switched off",
    layer: "firewall",
    by: (host) => host.switchTableOff(),
  },
  {
    what: "the removal of the last routing rule",
    layer: "routing",
    by: (host) => host.changeRule("del", "-4", "priority 90 unreachable"),
  },
  {
    what: "the removal of an IPv6 routing rule",
    layer: "routing",
    by: (host) => host.changeRule("del", "-6", "priority 80 iif lo lookup 20556"),
  },
  {
    what: "a routing rule at a priority of ours",
    layer: "routing",
    by: (host) => host.changeRule("add", "-4", "priority 10 to 8.8.8.8 lookup main"),
  },
];

describe.each(DAMAGES)("$what", ({ layer, by }) => {
  describe.each(["blocked", "connected"])("on a gateway that is %s", (how) => {
    claim("is undone at once, with two alerts", async (gateway) => {
      const { host } = gateway;
      if (how === "connected") await gateway.controller.connect(ONE);
      await host.pass(10_000);
      const before = kernelState(host);
      by(host);
      expect(kernelState(host)).not.toBe(before);
      await host.pass(5);
      expect(kernelState(host)).toBe(before);
      await host.pass(MINUTE_MS);
      expect(gateway.alerts).toEqual([`${layer}_altered`, `${layer}_restored`]);
      expect(await gateway.tunnels.killSwitch.stands()).toBe(true);
      expect(await gateway.tunnels.protection.fault()).toBeNull();
    });
  });

  claim("is undone within 5 min without an event", async (gateway) => {
    const { host } = gateway;
    const before = kernelState(host);
    host.mute = true;
    by(host);
    await host.pass(301_500);
    expect(kernelState(host)).toBe(before);
  });
});

claim(
  "a table that was deleted is loaded before any other command, whatever keeps the event loop",
  async (gateway) => {
    const { host } = gateway;
    await host.pass(10_000);
    const before = host.commands.length;
    host.removeTable();
    for (let turn = 0; turn < 20; turn++) await Promise.resolve();
    expect(host.commands[before]).toBe(LOAD);
  },
);

claim(
  "a table that a look has found missing is told of once, however late the kernel reports that",
  async (gateway) => {
    const { host, tunnels } = gateway;
    host.generation = 7;
    host.mute = true;
    host.removeTable();
    host.generation = 8;
    await tunnels.killSwitch.mend();
    host.mute = false;
    const report = async (generation: number) => {
      for (const line of [
        "delete table inet portcullis",
        `# new generation ${generation} by process 4711 (nft)`,
      ])
        host.tell("nft", line);
      await host.pass(10);
    };
    await report(8);
    const once = ["firewall_altered", "firewall_restored"] as const;
    expect(gateway.alerts).toEqual([...once]);
    await report(11);
    expect(gateway.alerts).toEqual([...once, ...once]);
  },
);

claim("the table by which neighbours find the gateway is put back without an alert", async (gateway) => {
  const { host } = gateway;
  const before = host.arpTable;
  expect(before).toContain(`iifname "up0" meta mark set`);
  host.removeArpTable();
  await host.pass(1_000);
  expect(host.arpTable).toBe(before);
  expect(gateway.alerts).toEqual([]);
});

claim("a rule that is altered right after a repair is put back, too", async (gateway) => {
  const { host } = gateway;
  const before = kernelState(host);
  const run = host.run.bind(host);
  let alterations = 1;
  host.run = async (argv, options) => {
    const answer = await run(argv, options);
    if (argv.join(" ") === LOAD && alterations-- > 0) host.replaceRule('oifname "lo" accept', "accept");
    return answer;
  };
  host.removeTable();
  await host.pass(MINUTE_MS);
  expect(alterations).toBeLessThan(1);
  expect(kernelState(host)).toBe(before);
});

describe("an nft that does not echo what it has loaded", () => {
  /** The gateway's table has been loaded by it. */
  function claimSilent(text: string, work: (gateway: Gateway) => Promise<void>): void {
    claim(text, async (gateway) => {
      gateway.host.echoes = false;
      await gateway.controller.connect(ONE);
      await gateway.host.pass(10_000);
      await work(gateway);
    });
  }

  const FIREWALL_DAMAGES = DAMAGES.filter(({ layer }) => layer === "firewall");
  for (const { what, by } of FIREWALL_DAMAGES) {
    claimSilent(`does not keep ${what} from being seen and undone`, async (gateway) => {
      const { host } = gateway;
      const before = kernelState(host);
      by(host);
      const isThere = host.table !== null;
      // One that is gone is back before it is read.
      if (isThere) expect(await gateway.tunnels.killSwitch.stands()).toBe(false);
      await host.pass(5);
      expect(kernelState(host)).toBe(before);
      await host.pass(MINUTE_MS);
      expect(gateway.alerts).toEqual(["firewall_altered", "firewall_restored"]);
      expect(await gateway.tunnels.killSwitch.stands()).toBe(true);
    });
  }

  claim("does not hide what another program alters right after a load", async (gateway) => {
    const { host } = gateway;
    host.echoes = false;
    // From its first look on, the service knows the spelling of the former table.
    await host.pass(10_000);
    await gateway.controller.connect(ONE);
    await host.pass(5);
    const before = kernelState(host);
    host.replaceRule('oifname "wg0" ct state invalid,untracked drop', 'oifname "wg0" accept');
    await host.pass(5);
    expect(kernelState(host)).toBe(before);
    expect(gateway.alerts).toEqual(["firewall_altered", "firewall_restored"]);
  });

  claimSilent("is no reason for an alert", async (gateway) => {
    const { host, controller } = gateway;
    await controller.connect(TWO);
    await controller.disconnect();
    await host.pass(400_000);
    expect(gateway.alerts).toEqual([]);
    expect(await gateway.tunnels.protection.fault()).toBeNull();
  });
});

describe("a routing rule of another program before ours", () => {
  const RULE = "priority 9 to 8.8.8.8/32 lookup main";
  const SENTENCE =
    "A routing rule of another program comes before the kill switch's, so only the firewall blocks: 9 to 8.8.8.8/32 lookup main; to remove it: sudo ip rule del priority 9";

  claim("is reported at once, in health and in status, and is not removed", async (gateway) => {
    const { host, controller } = gateway;
    await controller.connect(ONE);
    await host.pass(2_000);
    host.changeRule("add", "-4", RULE);
    await host.pass(5);
    expect(gateway.alerts).toEqual(["foreign_rule"]);
    expect(await gateway.tunnels.protection.fault()).toBe(SENTENCE);
    expect((await gateway.status()).error).toBe(SENTENCE);
    await host.pass(400_000);
    expect(host.rules["-4"]).toContain(RULE);
    expect(gateway.alerts).toEqual(["foreign_rule"]);
    host.changeRule("del", "-4", RULE);
    await host.pass(5);
    expect(gateway.alerts).toEqual(["foreign_rule", "foreign_rule_gone"]);
    expect(await gateway.tunnels.protection.fault()).toBeNull();
    expect((await gateway.status()).error).toBeNull();
  });

  claim("makes the firewall be checked and repaired at once", async (gateway) => {
    const { host } = gateway;
    const before = host.table;
    host.mute = true;
    host.removeTable();
    host.mute = false;
    host.changeRule("add", "-6", "priority 0 lookup main");
    await host.pass(5);
    expect(host.table).toBe(before);
    expect(gateway.alerts).toEqual(["foreign_rule", "firewall_altered", "firewall_restored"]);
  });

  claim("is found without an event, and if it was there before the service", async (gateway) => {
    const { host } = gateway;
    host.mute = true;
    host.changeRule("add", "-4", RULE);
    await host.pass(301_500);
    expect(await gateway.tunnels.protection.fault()).toBe(SENTENCE);
    await gateway.restart();
    gateway.watch();
    await host.pass(2_000);
    expect(await gateway.tunnels.protection.fault()).toBe(SENTENCE);
  });

  claim("is a part that does not hold in the report of all parts", async (gateway) => {
    const { host } = gateway;
    host.changeRule("add", "-4", RULE);
    const { parts } = await gateway.tunnels.protection.inspection();
    expect(parts.filter(({ holds }) => !holds).map(({ found }) => found)).toEqual([
      "another program's rule comes before the kill switch's: 9 to 8.8.8.8/32 lookup main",
      "off: LAN clients are not served",
    ]);
  });

  claim("is not reported while the kill switch is off without a tunnel", async (gateway) => {
    const { host } = gateway;
    await gateway.operatorSwitch.turn(false);
    host.changeRule("add", "-4", RULE);
    await host.pass(400_000);
    expect(gateway.alerts).toEqual(["killswitch_off"]);
    expect((await gateway.status()).error).toBeNull();
  });
});

describe("another firewall that begins to drop what is forwarded", () => {
  /** As `iptables -P FORWARD DROP` leaves it, with these rules. */
  const filter = (...rules: string[]) =>
    `table ip filter {\n  chain FORWARD {\n    type filter hook forward priority filter; policy drop;\n${rules.map((rule) => `    ${rule}\n`).join("")}  }\n}\n`;
  const SENTENCE =
    "Another firewall drops what the LAN sends into the tunnel (ip filter FORWARD); to let it through: iptables -I FORWARD -o wg+ -j ACCEPT; iptables -I FORWARD -i wg+ -j ACCEPT";

  claim("is reported in an alert and in status, but is not a fault of the kill switch", async (gateway) => {
    const { host } = gateway;
    host.setOtherTable("ip filter", filter());
    await host.pass(3_000);
    expect(gateway.alerts).toEqual(["forwarding_dropped"]);
    expect((await gateway.status()).error).toBe(SENTENCE);
    expect(await gateway.tunnels.protection.fault()).toBeNull();
    host.setOtherTable("ip filter", filter('oifname "wg*" accept', 'iifname "wg*" accept'));
    await host.pass(3_000);
    expect(gateway.alerts).toEqual(["forwarding_dropped", "forwarding_restored"]);
    expect((await gateway.status()).error).toBeNull();
  });

  claim("for a new tunnel only is reported as soon as there is one", async (gateway) => {
    const { host, tunnels } = gateway;
    const passing = ["wg0", "wg1"].flatMap((link) => [
      `oifname "${link}" accept`,
      `iifname "${link}" accept`,
    ]);
    host.setOtherTable("ip filter", filter(...passing));
    await host.pass(3_000);
    expect(gateway.alerts).toEqual([]);
    await tunnels.opened("tv");
    await host.pass(0);
    expect(gateway.alerts).toEqual(["forwarding_dropped"]);
  });

  claim("for direct devices only is reported as soon as there is one", async (gateway) => {
    const { host, devices, warnings } = gateway;
    host.setOtherTable("ip filter", filter('oifname "wg*" accept', 'iifname "wg*" accept'));
    await host.pass(3_000);
    expect(gateway.alerts).toEqual([]);
    await devices.setDirect(true);
    await devices.assign("02:00:00:00:00:20", { exit: "direct" });
    await host.pass(0);
    expect(warnings).toContain(
      "Another firewall drops what direct devices send to the uplink (ip filter FORWARD); to let it through: iptables -I FORWARD -i lan0 -o up0 -j ACCEPT; iptables -I FORWARD -i up0 -o lan0 -m conntrack --ctstate RELATED,ESTABLISHED -j ACCEPT",
    );
    await devices.setDirect(false);
    await host.pass(0);
    expect(gateway.alerts.filter((code) => code !== "direct_changed")).toEqual([
      "forwarding_dropped",
      "forwarding_restored",
    ]);
  });

  claim("is found within 5 min without an event", async (gateway) => {
    const { host } = gateway;
    host.mute = true;
    host.setOtherTable("ip filter", filter());
    await host.pass(301_500);
    expect(gateway.alerts).toEqual(["forwarding_dropped"]);
  });

  claim("and cannot be read does not make the kill switch doubtful", async (gateway) => {
    const { host } = gateway;
    host.fails = () => (host.commands.at(-1) === "nft -j list chains" ? "before" : null);
    host.setOtherTable("ip filter", filter());
    const before = host.commands.length;
    await host.pass(MINUTE_MS);
    expect(host.commands.slice(before)).toEqual(["nft -j list chains"]);
  });

  claim("and changes all the time costs two commands in 2 s", async (gateway) => {
    const { host } = gateway;
    const before = host.commands.length;
    for (let change = 0; change < 100; change++) {
      host.setOtherTable("ip filter", filter(`ip saddr 10.0.0.${change} drop`));
      await host.pass(100);
    }
    expect(host.commands.length - before).toBeLessThanOrEqual(10);
    expect(new Set(host.commands.slice(before))).toEqual(
      new Set(["nft -j list chains", "nft -s list table ip filter"]),
    );
    expect(gateway.alerts).toEqual(["forwarding_dropped"]);
  });
});

describe("several owners", () => {
  const first = { endpoints: [FIRST], carrying: [FIRST] };
  const second = { endpoints: [FURTHER], carrying: [FURTHER] };

  /** The table as the kernel has it, without the two lines that replace the former one. */
  function loaded(policy: Policy): string {
    return rulesetOf(policy).split("\n").slice(2).join("\n");
  }

  function killSwitchOn(host: FakeHost, isOn = true): KillSwitch {
    const repairs = new Repairs(host, () => {});
    return new KillSwitch(
      host,
      () => isOn,
      repairs,
      () => {},
    );
  }

  /** A kill switch whose machine has the network of the examples. */
  async function raised(prepare = async (_: KillSwitch) => {}): Promise<[KillSwitch, FakeHost]> {
    const host = new FakeHost();
    const killSwitch = killSwitchOn(host);
    await prepare(killSwitch);
    await killSwitch.updateNetwork(NETWORK);
    return [killSwitch, host];
  }

  test("do not erase each other's parts, and one that withdraws leaves the others unchanged", async () => {
    const [killSwitch, host] = await raised();
    await Promise.all([killSwitch.update("main", first), killSwitch.update("amsterdam", second)]);
    expect(host.table).toBe(loaded(POLICIES["two-tunnels"]));
    await killSwitch.update("exemption", { exemption: EXEMPTION });
    await killSwitch.update("main", null);
    expect(host.table).toBe(loaded({ ...POLICIES.exemption, endpoints: [FURTHER], carrying: [FURTHER] }));
    expect(host.rules["-4"].filter((rule) => rule.includes("dport 443"))).toHaveLength(1);
    await killSwitch.update("exemption", null);
    await killSwitch.update("amsterdam", null);
    expect(host.table).toBe(loaded(POLICIES.blocked));
    expect(host.rules["-4"].filter((rule) => rule.includes("dport 443"))).toEqual([]);
  });

  test("of remote devices keep their addresses from a mesh, which would keep their answers", async () => {
    const remote = POLICIES.remote.remote as unknown as RemotePart;
    const mesh = { interface: "mesh0", mesh: true as const, prefixes: cidrs("10.200.0.0/16"), closed: [] };
    const killSwitch = killSwitchOn(new FakeHost());
    await killSwitch.updateNetwork({ ...NETWORK, meshes: [{ ...mesh, addresses: ips("10.200.0.1") }] });
    const links = () => killSwitch.lans.map((lan) => lan.interface);
    expect(links()).toEqual([...NETWORK.lans.map((lan) => lan.interface), "mesh0"]);
    await killSwitch.update("REMOTE", { remote });
    expect(links()).toEqual(NETWORK.lans.map((lan) => lan.interface));
    expect(killSwitch.remote?.networks).toEqual(remote.networks);
    await killSwitch.update("REMOTE", null);
    expect(links()).toContain("mesh0");
  });

  test("from before the first look at the network are all in the first load", async () => {
    const [, host] = await raised(async (killSwitch) => {
      await killSwitch.update("main", first);
      await killSwitch.update("amsterdam", second);
    });
    expect(host.tables).toEqual([loaded(POLICIES["two-tunnels"])]);
  });

  test("with a network that was not read anew read no routes again", async () => {
    const host = new FakeHost();
    const killSwitch = killSwitchOn(host);
    const network = {
      ...NETWORK,
      linkRoutes: [{ prefix: mustParsePrefix("192.168.7.0/24"), interface: "lan0", source: null }],
    };
    const run = host.run.bind(host);
    // The fake kernel has no routes to the LAN.
    host.run = async (argv, options) => (argv.includes("-force") ? "" : run(argv, options));
    const reads = () => host.commands.filter((command) => command.includes("route show table")).length;
    await killSwitch.updateNetwork(network);
    const before = reads();
    expect(before).toBeGreaterThan(0);
    await killSwitch.updateNetwork(network);
    expect(reads()).toBe(before);
    await killSwitch.updateNetwork({ ...network });
    expect(reads()).toBeGreaterThan(before);
  });

  test("that change nothing wait for changes under way, and not for a listing", async () => {
    const [killSwitch, host] = await raised();
    const run = host.run.bind(host);
    const listed = Promise.withResolvers<void>();
    const loaded = Promise.withResolvers<void>();
    host.run = async (argv, options) => {
      await (argv.includes("list") ? listed : loaded).promise;
      return run(argv, options);
    };
    const question = killSwitch.stands();
    await killSwitch.updateNetwork(NETWORK);
    listed.resolve();
    expect(await question).toBe(true);
    const order: string[] = [];
    const note = (what: string) => () => void order.push(what);
    const change = killSwitch.update("main", first).then(note("the change"));
    await nextTurn();
    const nothing = killSwitch.update("main", first).then(note("the same"));
    for (let turn = 0; turn < 5; turn += 1) await nextTurn();
    expect(order).toEqual([]);
    loaded.resolve();
    await Promise.all([change, nothing]);
    expect(order).toEqual(["the change", "the same"]);
    expect(host.tables).toHaveLength(2);
  });

  test("are done once the kernel has the table, and what comes next waits for the end of nft", async () => {
    const [killSwitch, host] = await raised();
    await killSwitch.updateNetwork(NETWORK);
    const run = host.run.bind(host);
    const ended = Promise.withResolvers<void>();
    host.run = async (argv, options) => {
      const printed = await run(argv, options);
      if (argv.join(" ") === LOAD) await ended.promise;
      return printed;
    };
    const before = loadsOf(host);
    await killSwitch.update("main", first);
    expect(host.table).toBe(loaded({ ...POLICIES.connected }));
    let isNext = false;
    const next = killSwitch.update("main", first).then(() => {
      isNext = true;
    });
    const question = killSwitch.stands();
    for (let turn = 0; turn < 5; turn += 1) await nextTurn();
    expect(isNext).toBe(false);
    ended.resolve();
    await next;
    expect(await question).toBe(true);
    expect(loadsOf(host)).toBe(before + 1);
  });

  test("of more than the table are done once the kernel has all of it", async () => {
    const [killSwitch, host] = await raised();
    await killSwitch.updateNetwork(NETWORK);
    const run = host.run.bind(host);
    const ruled = Promise.withResolvers<void>();
    host.run = async (argv, options) => {
      if (argv[0] === "ip") await ruled.promise;
      return run(argv, options);
    };
    let isDone = false;
    const change = killSwitch.update("main", { ...first, lookup: LOOKUP }).then(() => {
      isDone = true;
    });
    for (let turn = 0; turn < 5; turn += 1) await nextTurn();
    expect(isDone).toBe(false);
    ruled.resolve();
    await change;
  });

  describe("of which one is the devices", () => {
    const { devices } = POLICIES;
    const moved = [...devices.devices.slice(1), assigned("02:00:00:00:00:03", "amsterdam")];

    async function withDevices(): Promise<[KillSwitch, FakeHost]> {
      const [killSwitch, host] = await raised();
      await killSwitch.update("main", first);
      await killSwitch.update("amsterdam", second);
      await killSwitch.update("devices", { devices: devices.devices });
      expect(host.table).toBe(loaded(devices));
      return [killSwitch, host];
    }

    test("that move change only elements, and the kernel has what a whole load would have", async () => {
      const [killSwitch, host] = await withDevices();
      const before = loadsOf(host);
      await killSwitch.update("devices", { devices: moved });
      expect(loadsOf(host)).toBe(before);
      expect(chainsListed(host.table ?? "")).toEqual(chainsListed(loaded({ ...devices, devices: moved })));
      expect(await killSwitch.stands()).toBe(true);
      await killSwitch.mend();
      expect(loadsOf(host)).toBe(before);
    });

    test("also change only elements when the last one goes, and when the first one comes", async () => {
      const [killSwitch, host] = await withDevices();
      const before = loadsOf(host);
      for (const some of [[], devices.devices]) {
        await killSwitch.update("devices", { devices: some });
        expect(chainsListed(host.table ?? "")).toEqual(chainsListed(loaded({ ...devices, devices: some })));
        expect(await killSwitch.stands()).toBe(true);
        await killSwitch.mend();
        expect(loadsOf(host)).toBe(before);
      }
    });

    test("that move are done once the kernel has it, and no program is started", async () => {
      const [killSwitch, host] = await withDevices();
      const held = Promise.withResolvers<void>();
      host.holds = (command) => (command === CHANGE_ELEMENTS ? held.promise : null);
      const { length } = host.commands;
      let isDone = false;
      const move = killSwitch.update("devices", { devices: moved }).then(() => {
        isDone = true;
      });
      await Bun.sleep(20);
      expect(isDone).toBe(false);
      held.resolve();
      await move;
      expect(host.commands.slice(length)).toEqual([CHANGE_ELEMENTS]);
    });

    test("do not delay a new server, which the table permits before it has the rest", async () => {
      const [killSwitch, host] = await withDevices();
      const table = Promise.withResolvers<void>();
      host.holds = (command) => (command === LOAD ? table.promise : null);
      const servers = Promise.withResolvers<void>();
      const updated = killSwitch.update("further", { endpoints: [SECOND] }, servers.resolve);
      await servers.promise;
      const { address, port } = SECOND.endpoint;
      expect(elementsOf("servers_ipv6", chainsListed(host.table ?? ""))).toContain(`${address} . ${port}`);
      expect(host.table).not.toContain(`from_${SECOND.interface}`);
      table.resolve();
      await updated;
      expect(host.table).toContain(`from_${SECOND.interface}`);
      expect(await killSwitch.stands()).toBe(true);
    });

    test.each([
      ["while the kill switch is off", false, {}],
      ["while routing rules change, too", true, { exemption: EXEMPTION }],
    ])("do not let a new server be permitted ahead %s", async (_, isOn, further) => {
      const host = new FakeHost();
      const killSwitch = killSwitchOn(host, isOn);
      await killSwitch.updateNetwork(NETWORK);
      await killSwitch.update("main", first);
      const table = Promise.withResolvers<void>();
      host.holds = (command) => (command === LOAD ? table.promise : null);
      const servers: boolean[] = [];
      const part = { endpoints: [SECOND], ...further };
      const updated = killSwitch.update("further", part, () => servers.push(true));
      await Bun.sleep(20);
      expect([servers, elementsOf("servers_ipv6", chainsListed(host.table ?? ""))]).toEqual([[], []]);
      table.resolve();
      await updated;
      expect(elementsOf("servers_ipv6", chainsListed(host.table ?? ""))).toHaveLength(1);
    });

    test.each(["before", "after", "late"] as const)(
      "that move load the whole table if the change of elements fails, %s its effect",
      async (when) => {
        const [killSwitch, host] = await withDevices();
        const before = loadsOf(host);
        host.fails = (count) => (host.commands[count - 1] === CHANGE_ELEMENTS ? when : null);
        await killSwitch.update("devices", { devices: moved });
        expect([loadsOf(host), host.table]).toEqual([before + 1, loaded({ ...devices, devices: moved })]);
        host.fails = () => null;
        await killSwitch.update("devices", { devices: devices.devices });
        expect(loadsOf(host)).toBe(before + 1);
      },
    );

    test("that move load the whole table if another program has altered the sets", async () => {
      const [killSwitch, host] = await withDevices();
      const before = loadsOf(host);
      host.changeElement("delete", "on_amsterdam", "02:00:00:00:00:01");
      await killSwitch.update("devices", { devices: devices.devices.filter(({ id }) => !id.endsWith("01")) });
      expect(loadsOf(host)).toBe(before + 1);
      expect(host.table).not.toContain("02:00:00:00:00:01");
      expect(await killSwitch.stands()).toBe(true);
    });

    test.each(["add", "delete"] as const)(
      "and another program's %s of an element is undone",
      async (verb) => {
        const [killSwitch, host] = await withDevices();
        await killSwitch.update("devices", { devices: moved });
        const before = chainsListed(host.table ?? "");
        if (verb === "add") host.changeElement("add", "on_main", "02:00:00:00:00:03");
        else host.changeElement("delete", "assigned", "02:00:00:00:00:03");
        expect(await killSwitch.stands()).toBe(false);
        await killSwitch.mend();
        expect(chainsListed(host.table ?? "")).toEqual(before);
        expect(await killSwitch.stands()).toBe(true);
      },
    );

    test("are refused while their tunnel is down, and leave by it again when it is up", async () => {
      const [killSwitch, host] = await withDevices();
      await killSwitch.update("amsterdam", { endpoints: [FURTHER] });
      expect(host.table).toBe(loaded({ ...devices, carrying: [FIRST] }));
      expect(host.table).not.toContain("exit_amsterdam");
      await killSwitch.update("amsterdam", second);
      expect(host.table).toBe(loaded(devices));
    });
  });

  describe("on a kernel", () => {
    const batches = ["ip -4 -batch -", "ip -6 -batch -"];
    /** Nothing else waits for it. */
    const arp = ["nft -f -", "nft -s -n list table arp portcullis"];

    /** What the kill switch runs until nothing is left but the load of the table, and what follows the load. */
    async function aroundLoad(rules: readonly string[]): Promise<[string[], string[]]> {
      const host = new FakeHost();
      host.rules["-4"].push(...rules);
      const table = Promise.withResolvers<void>();
      host.holds = (command) => (command === LOAD ? table.promise : null);
      const killSwitch = killSwitchOn(host);
      await killSwitch.update("main", first);
      const done = killSwitch.updateNetwork(NETWORK);
      await Bun.sleep(0);
      const before = host.commands.length;
      table.resolve();
      await done;
      // That of the table runs beside.
      const changes = host.commands.map((command) => (command === LISTING ? null : command));
      const only = (commands: readonly (string | null)[]) => commands.filter((each) => each !== null);
      return [only(changes.slice(0, before)), only(changes.slice(before))];
    }

    test("without rules of ours both layers are loaded at once", async () => {
      const readings = ["ip -j -4 rule show", "ip -j -6 rule show"];
      expect(await aroundLoad([])).toEqual([[LOAD, ...readings, ...batches], arp]);
    });

    test("what another program alters right after the first load is not taken for nft's spelling", async () => {
      const [killSwitch, host] = await raised(async (each) => each.update("main", first));
      // The gateway reads the table at once, in its turn.
      await Bun.sleep(0);
      host.replaceRule('oifname "wg0" ct state invalid,untracked drop', 'oifname "wg0" accept');
      expect(await killSwitch.stands()).toBe(false);
    });

    test("nor is a table with another exit, which a killed service's nft commits before the first listing", async () => {
      const host = new FakeHost();
      const killSwitch = killSwitchOn(host);
      await killSwitch.update("main", first);
      const run = host.run.bind(host);
      host.run = async (argv, options) => {
        const output = await run(argv, options);
        // Of as many rules.
        if (argv.join(" ") === LOAD) host.replaceRule("goto exit_main", "goto exit_blocked");
        return output;
      };
      await killSwitch.updateNetwork(NETWORK);
      host.run = run;
      expect(await killSwitch.stands()).toBe(false);
    });

    test("with an earlier version's rules the table comes first", async () => {
      const [, after] = await aroundLoad(["priority 40 lookup 20556"]);
      expect(after).toEqual([...batches, ...arp]);
    });
  });
});

describe("two layers that are damaged together", () => {
  claim("are both restored, each with two alerts", async (gateway) => {
    const { host } = gateway;
    const before = kernelState(host);
    host.removeTable();
    host.changeRule("del", "-4", "priority 80 iif lo lookup 20556");
    await host.pass(1_000);
    expect(kernelState(host)).toBe(before);
    expect(gateway.alerts.toSorted()).toEqual([
      "firewall_altered",
      "firewall_restored",
      "routing_altered",
      "routing_restored",
    ]);
  });
});

describe("a repair", () => {
  claim("looks at what blocks, and loads it, before anything else", async (gateway) => {
    const { host } = gateway;
    await gateway.controller.connect(ONE);
    await host.pass(10_000);
    const from = host.commands.length;
    host.removeTable();
    await host.pass(1_000);
    const ran = host.commands.slice(from);
    const loaded = ran.findIndex((command) => command.startsWith(LOAD));
    expect(loaded).toBeGreaterThan(-1);
    const others = ran
      .slice(0, loaded)
      .filter((command) => !/^(nft .*list table inet|ip -j -[46] rule)/.test(command));
    expect(others).toEqual([]);
  });
});

describe("what changes nothing of the kill switch", () => {
  claim("causes no alert: a table or a rule of another program", async (gateway) => {
    const { host } = gateway;
    const before = host.commands.length;
    host.changeRule("add", "-4", "priority 5000 to 10.0.0.0/8 lookup main");
    host.tell("nft", '{"add": {"table": {"family": "inet", "name": "docker", "handle": 8}}}');
    await host.pass(1_000);
    expect(gateway.alerts).toEqual([]);
    expect(loadsOf(host, before)).toBe(0);
  });

  claim("causes no alert and no load: connects, switches, a lookup and disconnects", async (gateway) => {
    const { host, controller } = gateway;
    for (let round = 0; round < 5; round++) {
      host.toldAfterMs = 20 * round;
      await controller.connect(ONE);
      await controller.connect(TWO);
      await host.pass(round * 100);
      await controller.disconnect();
    }
    await host.pass(MINUTE_MS);
    expect(gateway.alerts).toEqual([]);
    expect(await gateway.tunnels.protection.fault()).toBeNull();
  });
});

slow.describe("a program that undoes each repair", () => {
  /** Undoes every repair at once, until it is stopped. */
  function fight(host: FakeHost, delayMs: number): () => void {
    let fighting = true;
    const undo = () => {
      if (fighting) host.removeTable();
    };
    const run = host.run.bind(host);
    host.run = async (argv, options) => {
      const answer = await run(argv, options);
      if (argv.join(" ") === LOAD) {
        if (delayMs === 0) undo();
        else void host.sleep(delayMs).then(undo);
      }
      return answer;
    };
    undo();
    return () => {
      fighting = false;
    };
  }

  describe.each([0, 3, 100, 600])("after %d ms", (delayMs) => {
    claim("is met with one repair a second and one alert", async (gateway) => {
      const { host } = gateway;
      const before = kernelState(host);
      const stop = fight(host, delayMs);
      await host.pass(10_000);
      const since = host.commands.length;
      await host.pass(MINUTE_MS);
      expect(loadsOf(host, since)).toBeGreaterThanOrEqual(25);
      expect(loadsOf(host, since)).toBeLessThanOrEqual(61);
      expect(gateway.alerts.filter((code) => code === "protection_contested")).toHaveLength(1);
      expect(gateway.alerts.length).toBeLessThanOrEqual(25);
      stop();
      await host.pass(2_000);
      expect(kernelState(host)).toBe(before);
      await host.pass(MINUTE_MS);
      expect(gateway.alerts.slice(-2)).toEqual(["protection_contested", "protection_uncontested"]);
      expect(gateway.alerts.filter((code) => code === "protection_uncontested")).toHaveLength(1);
    });

    claim(
      "costs no more commands the longer it lasts",
      async (gateway) => {
        const { host } = gateway;
        const stop = fight(host, delayMs);
        await host.pass(MINUTE_MS);
        const first = host.commands.length;
        await host.pass(MINUTE_MS);
        const early = host.commands.length - first;
        await host.pass(runs(13) * MINUTE_MS);
        const second = host.commands.length;
        await host.pass(MINUTE_MS);
        expect(host.commands.length - second).toBeLessThanOrEqual(early * 1.2);
        stop();
      },
      sampled.test,
    );

    claim("and gives up is reported again when it comes back", async (gateway) => {
      const { host } = gateway;
      const stop = fight(host, delayMs);
      await host.pass(30_000);
      stop();
      await host.pass(32_000);
      gateway.alerts.length = 0;
      host.removeTable();
      await host.pass(1_000);
      expect(gateway.alerts).toEqual(["firewall_altered", "firewall_restored"]);
    });
  });
});

describe("an nft that refuses", () => {
  claim("is a fault with one alert, and another alert when the kernel accepts the load", async (gateway) => {
    const { host, controller } = gateway;
    const before = kernelState(host);
    refuseTables(host);
    await expect(controller.connect(ONE)).rejects.toThrow("made to fail");
    await host.pass(MINUTE_MS);
    expect(await gateway.tunnels.protection.fault()).toContain("made to fail");
    expect(gateway.alerts).toEqual(["protection_failed"]);
    host.fails = () => null;
    await host.pass(3_000);
    expect(await gateway.tunnels.protection.fault()).toBeNull();
    expect(gateway.alerts).toEqual(["protection_failed", "protection_restored"]);
    expect(gateway.warnings[0]).toBe(`The kernel refused a part of the kill switch: ${LOAD}: made to fail`);
    expect(kernelState(host)).toBe(before);
    expect(stoodAlways(host)).toBe(true);
  });

  claim(
    "or does not finish in time is reported differently: a time-out is not a refusal",
    async (gateway) => {
      const { host, controller } = gateway;
      host.fails = () => (host.commands.at(-1) === LOAD ? "late" : null);
      await expect(controller.connect(ONE)).rejects.toThrow(`${LOAD} did not finish within 30 s`);
      host.fails = () => null;
      await host.pass(3_000);
      expect(gateway.alerts).toEqual(["protection_failed", "protection_restored"]);
      expect(gateway.warnings[0]).toBe(
        `A part of the kill switch might be missing from the kernel: ${LOAD} did not finish within 30 s`,
      );
      expect(await gateway.tunnels.protection.fault()).toBeNull();
    },
  );

  claim(
    "while the table is removed causes one alert for the damage, and the repair once nft works",
    async (gateway) => {
      const { host } = gateway;
      const before = kernelState(host);
      refuseTables(host);
      host.removeTable();
      await host.pass(MINUTE_MS);
      expect(await gateway.tunnels.protection.fault()).not.toBeNull();
      expect(await gateway.tunnels.killSwitch.stands()).toBe(false);
      expect(gateway.alerts).toEqual(["firewall_altered", "protection_failed"]);
      host.fails = () => null;
      await host.pass(3_000);
      expect(kernelState(host)).toBe(before);
      expect(gateway.alerts).toEqual(["firewall_altered", "protection_failed", "protection_restored"]);
    },
  );

  claim("to read at an event is read again soon", async (gateway) => {
    const { host } = gateway;
    const before = kernelState(host);
    let failures = 2;
    host.fails = () => (host.commands.at(-1) === "ip -j -4 rule show" && failures-- > 0 ? "before" : null);
    host.removeTable();
    await host.pass(15_000);
    expect(kernelState(host)).toBe(before);
  });
});

describe("a look at the kernel", () => {
  /** Commands take so many turns, so that a look is under way when the next thing happens. */
  claim("that is under way during a connect does not restore an earlier state", async (gateway) => {
    const { host, controller, tunnels } = gateway;
    for (let slow = 0; slow < 60; slow += 3) {
      host.turns = (command) => (command.startsWith("nft -s -n list") ? slow : 5);
      host.removeTable();
      const mending = tunnels.killSwitch.mend();
      await Promise.all([controller.connect(ONE), mending]);
      await host.pass(1_000);
      expect(host.table).toContain('oifname "wg0" accept');
      host.insertRule("output", "accept");
      const again = tunnels.killSwitch.mend();
      await Promise.all([controller.disconnect(), again]);
      await host.pass(1_000);
      expect(host.table).not.toContain("wg0");
      expect(await tunnels.killSwitch.stands()).toBe(true);
      await host.pass(10_000);
    }
    expect(stoodAlways(host)).toBe(true);
  });

  claim("does not take a pending change of ours for another program's", async (gateway) => {
    const { host, tunnels } = gateway;
    const { killSwitch } = tunnels;
    for (let slow = 0; slow < 60; slow += 3) {
      host.turns = (command) => (command.includes("rule show") ? slow : 5);
      const works = [
        killSwitch.update("main", null),
        killSwitch.mend(),
        killSwitch.update("main", { lookup: LOOKUP }),
        killSwitch.mend(),
        killSwitch.update("main", null),
      ];
      await Promise.all(works);
    }
    await host.pass(1_000);
    expect(gateway.alerts).toEqual([]);
  });

  claim("for the status during a switch causes no alert", async (gateway) => {
    const { host, controller } = gateway;
    for (let slow = 0; slow < 60; slow += 3) {
      host.turns = (command) => (command.startsWith("nft -s -n list") ? slow : 5);
      const asked = [gateway.status(), controller.connect(ONE), gateway.status()];
      await Promise.all(asked);
      await Promise.all([gateway.status(), controller.disconnect(), gateway.status()]);
    }
    await host.pass(1_000);
    expect(gateway.alerts).toEqual([]);
  });
});

describe("a change of another program right after one of ours", () => {
  const connected = (text: string, work: (gateway: Gateway) => Promise<void>) =>
    claim(text, async (gateway) => {
      await gateway.controller.connect(ONE);
      await gateway.host.pass(5_000);
      await work(gateway);
    });
  const isRepaired = async ({ host, alerts }: Gateway) => {
    await host.pass(100);
    expect(host.table).not.toContain("accept all");
    expect(alerts).toEqual(["firewall_altered", "firewall_restored"]);
  };

  connected("is repaired if the kernel has dropped the reports of ours", async (gateway) => {
    const { host, tunnels } = gateway;
    host.mute = true;
    for (const part of [{ lookup: LOOKUP }, null]) await tunnels.killSwitch.update("other", part);
    host.mute = false;
    host.tell("nft", "# ERROR: We lost some netlink events!");
    await host.pass(100);
    expect(gateway.alerts).toEqual([]);
    host.insertRule("output", 'accept comment "accept all"');
    await isRepaired(gateway);
  });

  connected("is repaired if its report was dropped together with that of ours", async (gateway) => {
    const { host } = gateway;
    host.mute = true;
    await gateway.tunnels.killSwitch.update("other", { lookup: LOOKUP });
    host.insertRule("output", 'accept comment "accept all"');
    host.mute = false;
    host.tell("nft", "# ERROR: We lost some netlink events!");
    await isRepaired(gateway);
  });

  connected(
    "is repaired at once while the monitor, which missed ours, has just been restarted",
    async (gateway) => {
      const { host } = gateway;
      host.endWatches("nft");
      await host.pass(900);
      await gateway.tunnels.killSwitch.update("other", { lookup: LOOKUP });
      await host.pass(200);
      host.insertRule("output", 'accept comment "accept all"');
      await isRepaired(gateway);
    },
  );
});

describe("with the kill switch off", () => {
  claim("there is no alert about a missing table", async (gateway) => {
    const { host } = gateway;
    await gateway.operatorSwitch.turn(false);
    host.tell("nft", '{"delete": {"table": {"family": "inet", "name": "portcullis", "handle": 8}}}');
    await host.pass(400_000);
    expect(gateway.alerts).toEqual(["killswitch_off"]);
    expect(host.table).toBeNull();
  });

  claim("that is told, and that it is on again, each once", async (gateway) => {
    for (const wanted of [true, false, false, true, true]) await gateway.operatorSwitch.turn(wanted);
    expect(gateway.alerts).toEqual(["killswitch_off", "killswitch_on"]);
    expect(gateway.warnings).toEqual([
      "The kill switch has been turned off: traffic might leave outside the tunnel.",
      "The kill switch has been turned on.",
    ]);
  });

  claim("a tunnel is still repaired", async (gateway) => {
    const { host, controller } = gateway;
    await gateway.operatorSwitch.turn(false);
    await controller.connect(ONE);
    await host.pass(5_000);
    const before = kernelState(host);
    host.removeTable();
    await host.pass(5);
    expect(kernelState(host)).toBe(before);
    expect(gateway.alerts).toEqual(["killswitch_off", "firewall_altered", "firewall_restored"]);
  });
});
