import { describe, expect } from "bun:test";
import { type Address, mustParseAddress } from "../../src/base/address.ts";
import { type Mac, parseMac } from "../../src/base/mac.ts";
import { settingsFrom } from "../../src/base/settings.ts";
import { applyRules, readRules } from "../../src/killswitch/kernel-rules.ts";
import { chainsEchoed, chainsListed, finalRulesStand, sameChains } from "../../src/killswitch/listing.ts";
import type { Policy } from "../../src/killswitch/policy.ts";
import { exceptionRules, rulesFor } from "../../src/killswitch/routing-rules.ts";
import { openRulesetOf, rulesetOf } from "../../src/killswitch/ruleset.ts";
import { droppingChains, listTable, loadTable } from "../../src/killswitch/table.ts";
import { hostNetworkOf } from "../../src/network/host-network.ts";
import {
  addressesFor,
  LIMITS_TABLE,
  type Limited,
  type Limiting,
  limitingOf,
  limitsChange,
  limitsFor,
  loadLimits,
  NO_LIMITS,
  OTHERS,
  readQuotas,
} from "../../src/network/limits-table.ts";
import { nftTable } from "../../src/network/own-table.ts";
import type { ElementChange, ElementType, Host } from "../../src/system/host.ts";
import { mtuTo } from "../../src/system/ip.ts";
import { addconfText, type Changes } from "../../src/wireguard/changes.ts";
import { formatEndpoint } from "../../src/wireguard/config-text.ts";
import { type Own, type Peer, parseUapi, setconfText, uapiText } from "../../src/wireguard/interface.ts";
import { publicKeyOf } from "../../src/wireguard/key.ts";
import { needsNamespaces } from "../fast.ts";
import { POLICIES } from "../killswitch/example.ts";
import { until } from "../rig/tools/until.ts";
import { cidr, cidrs, ip } from "./address.ts";
import { Both, ROUTER } from "./both.ts";

const PATIENCE_MS = 120_000;

/** A claim about what the fake and the real kernel do alike. */
function alike(claim: string, work: (both: Both) => Promise<void>): void {
  needsNamespaces.test(claim, () => Both.do(work), PATIENCE_MS);
}

const FAMILIES = ["-4", "-6"];
/** A rule by name. */
const NAMED: Policy["destinations"] = [
  {
    prefixes: [],
    devices: [],
    exit: { to: "tunnel", name: "main" },
    named: [{ labels: 2, addresses: [ip("192.0.2.1")] }],
  },
];

async function showRules(both: Both): Promise<void> {
  for (const family of FAMILIES) await both.play(`ip -j ${family} rule show`);
}

async function showRoutes(both: Both): Promise<void> {
  for (const family of FAMILIES) await both.play(`ip -j ${family} route show table 20556`);
}

const RULES: Record<string, string[]> = {
  "-4": [
    "priority 106 unreachable",
    "priority 100 fwmark 0x504c iif lo lookup main",
    "priority 100 fwmark 0x504c/0xff00ff lookup main",
    "priority 101 fwmark 0x504c unreachable",
    "priority 102 to 192.0.2.53/32 ipproto 17 iif lo sport 20053 dport 53 lookup main",
    "priority 102 to 192.0.2.80/32 ipproto 6 iif lo sport 20443 dport 443 lookup main",
    "priority 103 oif up0 suppress_prefixlength 7 lookup main",
    "priority 103 oif away0 suppress_prefixlength 7 lookup main",
    "priority 104 to 192.168.7.0/24 lookup main",
    "priority 104 from 192.168.66.0/24 iif up0 unreachable",
    "priority 104 to 192.168.8.0/24 lookup main",
    "priority 105 lookup 20556",
  ],
  "-6": [
    "priority 103 to fe80::/10 ipproto 17 iif lo sport 546 dport 547 lookup main",
    "priority 103 fwmark 0x504d iif lo suppress_prefixlength 63 lookup main",
    "priority 102 to 2001:db8::53/128 ipproto 17 iif lo sport 20053 dport 53 lookup main",
    "priority 104 to fd00:7::/64 lookup main",
    "priority 105 lookup 20556",
    "priority 106 unreachable",
  ],
};

function add(family: string, ...rules: readonly string[]): [command: string, stdin: string] {
  return batch(
    family,
    rules.map((rule) => `rule add ${rule}`),
  );
}

function batch(family: string, lines: readonly string[]): [command: string, stdin: string] {
  return [`ip ${family} -batch -`, `${lines.join("\n")}\n`];
}

describe("routing rules", () => {
  alike("of every kind are shown", async (both) => {
    await showRules(both);
    for (const [family, rules] of Object.entries(RULES)) {
      expect(await both.play(...add(family, ...rules))).toBe("done");
    }
    await showRules(both);
    await showRoutes(both);
  });

  alike("that exist are refused, and what comes after them in the batch is not done", async (both) => {
    const [first = "", second = "", third = "", ...others] = RULES["-4"] ?? [];
    expect(await both.play(...add("-4", ...others))).toBe("done");
    expect(await both.play(...add("-4", first, second, first, third))).toBe("refused");
    await showRules(both);
    for (const rule of others) expect(await both.play(...add("-4", rule))).toBe("refused");
    // With another mask, or for another port, it is another rule.
    await both.play(...add("-4", "priority 100 fwmark 0x504c/0xff00fe lookup main"));
    await both.play(...add("-4", "priority 104 to 192.168.7.0/25 lookup main"));
    await showRules(both);
  });

  alike("that are deleted go in order, and those that are missing are refused", async (both) => {
    for (const [family, rules] of Object.entries(RULES)) await both.play(...add(family, ...rules));
    const del = (family: string, ...rules: string[]) =>
      both.play(
        ...batch(
          family,
          rules.map((rule) => `rule del ${rule}`),
        ),
      );
    expect(await del("-4", "priority 104")).toBe("done");
    await showRules(both);
    expect(await del("-4", "priority 103 oif away0 suppress_prefixlength 7 lookup main")).toBe("done");
    expect(await del("-4", "priority 100 lookup main")).toBe("done");
    expect(
      await del("-6", "priority 102 to 2001:db8::53/128 ipproto 17 iif lo sport 20053 dport 53 lookup main"),
    ).toBe("done");
    await showRules(both);
    expect(await del("-4", "priority 105 lookup main")).toBe("refused");
    expect(await del("-4", "priority 106 unreachable", "priority 107", "priority 105")).toBe("refused");
    expect(await del("-6", "priority 104 to fd00:7::/63 lookup main")).toBe("refused");
    await showRules(both);
  });

  alike("become those of any policy from those of any other", async (both) => {
    const wanted = Object.values(POLICIES).map((policy: Policy) => [
      ...rulesFor({ ...policy, ipv6: "on" }),
      ...exceptionRules(policy),
    ]);
    for (const rules of [...wanted, ...wanted.toReversed(), []]) {
      await both.ask((host) => applyRules(host, rules));
      expect(await both.ask(readRules)).toHaveLength(rules.length);
      await showRules(both);
    }
  });
});

describe("links, addresses and routes", () => {
  alike("of the machine are shown, with and without a cable", async (both) => {
    const show = async () => {
      for (const what of ["link show", "address show", "address show dev up0"])
        await both.play(`ip -j ${what}`);
      for (const family of FAMILIES) await both.play(`ip -j ${family} route show`);
      // Only the real machine has a file of resolvers, and routes of the kernel's own.
      const apart = { resolvers: [], linkRoutes: [] };
      const settings = settingsFrom({ interface: both.link });
      await both.ask(async (host) => ({ ...(await hostNetworkOf(host, settings)), ...apart }));
    };
    await show();
    await both.plug(false);
    await show();
    await both.plug(true);
    await show();
    await both.meanwhile((fake) => fake.setDefaultRoute(null), "ip route del default");
    await show();
    expect(await both.play("ip -j address show dev away0")).toBe("refused");
  });

  alike("of a tunnel come, change and go", async (both) => {
    const { link } = both;
    const line = (...lines: string[]) => both.play("ip -batch -", `${lines.join("\n")}\n`);
    const show = async () => {
      for (const what of ["link show", "address show"]) await both.play(`ip -j ${what}`);
      await showRoutes(both);
    };
    await show();
    await line(`route del 10.0.0.0/8 table 20556`);
    await line(`route replace 10.0.0.0/8 dev ${link} table 20556`);
    await line(`link set dev ${link} mtu 1400 up`);
    await both.play(`ip link del dev ${link}`);
    if (!both.fake.native) await line(`link add dev ${link} type wireguard`);
    expect(await both.play(`wireguard-go ${link}`)).toBe("done");
    expect(await both.play(`wireguard-go ${link}`)).toBe("refused");
    await show();
    const addresses = [
      `address replace 10.64.0.2/32 dev ${link} noprefixroute`,
      `address replace fd00:64::2/128 dev ${link} noprefixroute nodad`,
    ];
    expect(await line(...addresses)).toBe("done");
    await show();
    for (const prefix of ["0.0.0.0/0", "::/0"]) {
      expect(await line(`route replace ${prefix} dev ${link} table 20556`)).toBe("refused");
      await show();
    }
    expect(await line(...addresses, `link set dev ${link} mtu 1400 up`)).toBe("done");
    const routes = ["0.0.0.0/0", "192.0.2.7/32", "10.0.0.0/8", "::/0", "2001:db8::7/128", "2001:db8::/32"];
    const replace = routes.map((prefix) => `route replace ${prefix} dev ${link} table 20556`);
    expect(await line(...replace)).toBe("done");
    expect(await line(...replace)).toBe("done");
    expect(await line(...replace.map((route) => `${route} mtu lock 1328`))).toBe("done");
    await show();
    const gone = ["192.0.2.7/32", "2001:db8::7/128"].map((prefix) => `route del ${prefix} table 20556`);
    expect(await line(...gone)).toBe("done");
    for (const route of gone) expect(await line(route)).toBe("refused");
    expect(await line(`route del ::/0 table 20556`, ...gone, `route del 0.0.0.0/0 table 20556`)).toBe(
      "refused",
    );
    await show();
    expect(await both.play(`ip link del dev ${link}`)).toBe("done");
    expect(await both.play(`ip link del dev ${link}`)).toBe("refused");
    await show();
  });
});

alike("the kernel knows what a router has said of the way to an address", async (both) => {
  const ask = () => both.ask((host) => mtuTo(host, ip("192.0.2.7"), 0x104c));
  expect(await ask()).toBeNull();
  await both.meanwhile(
    (fake) => fake.toldMtus.set("192.0.2.7", 1400),
    `ip route add 192.0.2.7/32 via ${ROUTER} mtu lock 1400`,
  );
  expect(await ask()).toBe(1400);
});

describe("neighbours", () => {
  alike("are shown and reported as they come, change and go", async (both) => {
    const lines: Record<"fake" | "real", string[]> = { fake: [], real: [] };
    const watches = (["fake", "real"] as const).map((name) => {
      const onLine = (line: string) => {
        if (line.startsWith("[NEIGH]")) lines[name].push(line.trimEnd());
      };
      return both[name].watch("ip monitor label neigh".split(" "), onLine, () => {});
    });
    const mac = parseMac("02:00:00:00:00:20") as Mac;
    const device = mustParseAddress("192.168.7.20");
    const neighbour = "192.168.7.20 dev lan0";
    const set = (nud: string, lladdr = ` lladdr ${mac}`) =>
      `ip neigh replace ${neighbour}${lladdr} nud ${nud}`;
    // Until the real program listens.
    await until(async () => {
      await both.real.run(["ip", "neigh", "replace", "192.168.7.9", "lladdr", mac, "dev", "lan0"]);
      await both.real.run(["ip", "neigh", "del", "192.168.7.9", "dev", "lan0"]);
      return lines.real.length > 0;
    });
    const ours = (all: string[]) => all.filter((line) => line.includes("192.168.7.20"));
    for (const state of ["STALE", "REACHABLE", "PERMANENT"] as const) {
      await both.meanwhile(
        (fake) => fake.setNeighbour("192.168.7.20", "lan0", mac, state),
        set(state.toLowerCase()),
      );
      await both.play("ip -j -s neigh show");
      expect(both.real.macAt(device, "lan0")).toBe(mac);
      expect(both.fake.macAt(device, "lan0")).toBe(mac);
    }
    const others = [
      [device, "up0"],
      [device, "none"],
      ["192.168.7.99", "lan0"],
    ] as [Address, string][];
    for (const host of [both.real, both.fake])
      expect(others.map(([address, link]) => host.macAt(address, link))).toEqual([null, null, null]);
    await both.meanwhile(
      (fake) => fake.setNeighbour("192.168.7.20", "lan0", mac, "FAILED"),
      set("failed", ""),
    );
    await both.play("ip -j -s neigh show");
    await both.meanwhile(
      (fake) => fake.setNeighbour("192.168.7.20", "lan0", mac, "Deleted"),
      `ip neigh del ${neighbour}`,
    );
    await both.play("ip -j -s neigh show");
    await until(async () => ours(lines.real).length >= ours(lines.fake).length);
    expect(ours(lines.real)).toEqual(ours(lines.fake));
    for (const watch of watches) watch.stop();
  });
});

const KEY = (byte: number) => new Uint8Array(32).fill(byte).toBase64();
const OWN: Own = { privateKey: KEY(8), fwmark: 0x504c };
const PEERS: Peer[] = [
  {
    config: {
      publicKey: publicKeyOf(KEY(128)),
      allowedIps: cidrs("0.0.0.0/0", "::/0"),
    },
    endpoint: { address: ip("192.0.2.1"), port: 51820 },
    keepalive: 25,
  },
  {
    config: {
      publicKey: publicKeyOf(KEY(136)),
      presharedKey: KEY(3),
      allowedIps: [],
    },
    endpoint: { address: ip("2001:db8::1"), port: 443 },
    keepalive: 0,
  },
];

describe("a WireGuard interface", () => {
  const TOLD: [what: string, own: Own, peers: Peer[]][] = [
    ["one server", OWN, PEERS.slice(0, 1)],
    ["two servers", OWN, PEERS],
    ["the other server, and another mark", { privateKey: KEY(16), fwmark: 0xa0000 }, PEERS.slice(1)],
    ["no server", OWN, []],
  ];

  alike("says what it was told, on its socket and to wg, and ends with its link", async (both) => {
    const { fake, real, link } = both;
    // A server that nobody reaches: when and how often WireGuard asks it is a matter of time.
    for (const { endpoint } of PEERS)
      if (endpoint !== null) fake.silent.add(formatEndpoint(endpoint.address, endpoint.port));
    const show = async () => {
      await both.play(`wg show ${link} dump`);
      await both.exchange("get=1\n\n");
    };
    await show();
    expect(await both.play(`wg setconf ${link} /dev/stdin`, setconfText(OWN, PEERS))).toBe("refused");
    await both.play(`wireguard-go ${link}`);
    await show();
    for (const [, own, peers] of TOLD) {
      expect(await both.play(`wg setconf ${link} /dev/stdin`, setconfText(own, peers))).toBe("done");
      await show();
    }
    const caller = {
      publicKey: publicKeyOf(KEY(64)),
      presharedKey: KEY(65),
      allowedIps: [cidr("10.66.0.2/32")],
    };
    const changes: Changes = {
      ...{ listenPort: null, fwmark: null, removed: [] },
      peers: [{ config: caller, endpoint: null, keepalive: 0 }],
    };
    expect(await both.play(`wg addconf ${link} /dev/stdin`, addconfText(changes))).toBe("done");
    await show();
    await both.play("ip -batch -", `link set dev ${link} mtu 1420 up\n`);
    for (const [, own, peers] of TOLD) {
      await both.exchange(uapiText(own, peers));
      await show();
    }
    await both.play(`ip link del dev ${link}`);
    const socket = `/var/run/wireguard/${link}.sock`;
    await until(async () => (await real.exchange(socket, "get=1\n\n")) === null);
    await show();
  });
});

describe("a server that answers", () => {
  alike("is met at once, and what that costs is counted", async (both) => {
    const { fake, real, link } = both;
    const server: Peer = {
      // No IPv6: the kernel has questions of its own for an interface that carries it, and WireGuard counts them.
      config: {
        publicKey: publicKeyOf(KEY(128)),
        allowedIps: [cidr("0.0.0.0/0")],
      },
      endpoint: { address: ip(ROUTER), port: 51820 },
      keepalive: 25,
    };
    await both.serve(KEY(128), 51820, publicKeyOf(OWN.privateKey));
    await both.play(`wireguard-go ${link}`);
    await both.play("ip -batch -", `link set dev ${link} mtu 1420 up\n`);
    await both.exchange(uapiText(OWN, [server]));
    const counted = async (host: Host) => {
      const answer = (await host.exchange(`/var/run/wireguard/${link}.sock`, "get=1\n\n")) ?? "";
      const { latestHandshake = 0, rxBytes, txBytes } = parseUapi(answer).peer ?? {};
      return { hasMet: latestHandshake > 0, rxBytes, txBytes };
    };
    const expected = JSON.stringify(await counted(fake));
    await until(async () => JSON.stringify(await counted(real)) === expected);
  });
});

const MAC = "02:00:00:00:00:20" as Mac;
const QUOTAS: Limited["quota"][] = [
  { name: "used_2026_11_28_a", bytes: 3_000_000, used: 1_000, atEnd: "blocked" },
  { name: "used_2026_11_28_b", bytes: 3_000_000, used: 3_000_000, atEnd: "told" },
  { name: "used_2026_11_c", bytes: 4_000_000, used: 4_000_000, atEnd: { down: 125_000, up: null } },
  null,
];

describe("the limits' table", () => {
  alike("has each quota as it was loaded, without what is over it, and is gone afterwards", async (both) => {
    const limitedBy = (quota: Limited["quota"], number: number): Limited => ({
      ...{
        number: number + 100,
        mac: MAC.replace("20", `2${number}`) as Mac,
        addresses: [ip("192.168.7.20")],
      },
      ...{ rate: { down: number === 3 ? 1_000 : null, up: null }, isShared: false, quota },
    });
    const tableOf = (host: Host) => nftTable(host, LIMITS_TABLE, (text: string) => text, ["-s"]);
    const listLimits = (host: Host) => tableOf(host).list();
    const show = (text?: string) =>
      both.ask(async (host) => {
        const listing = await listLimits(host);
        const isWhole = text === undefined ? listing === null : tableOf(host).isWhole(listing, text);
        return [[...(await readQuotas(host))].toSorted(), isWhole];
      });
    expect(await show()).toEqual([[], true]);
    for (const count of [1, 2, 3, 4]) {
      const limited = QUOTAS.slice(0, count).map(limitedBy);
      const text = limitsFor(limitingOf(limited, ["lan0"])) + addressesFor(limited);
      await both.ask((host) => loadLimits(host, text));
      expect((await show())[1]).toBe(false);
      const [quotas, limits] = await show(text);
      expect([quotas, limits]).toEqual([expect.any(Array), true]);
      expect(quotas).toHaveLength(Math.min(count, 3));
    }
    // That of everybody else, which the last of them shares.
    const ends = [{ down: 125_000, up: null }, "told", "blocked"] as const;
    for (const atEnd of ends) {
      const shared = { name: "used_2026_11_others", bytes: 5_000_000, used: 5_000, atEnd };
      const others = { ...limitedBy(shared, OTHERS - 100), mac: null, addresses: [] };
      const limited = [others, ...QUOTAS.map(limitedBy)];
      await both.ask((host) =>
        loadLimits(host, limitsFor(limitingOf(limited, ["lan0"])) + addressesFor(limited)),
      );
      expect((await show())[0]).toHaveLength(4);
    }
    // What changes is changed alone, and leaves the table as if it had been made so.
    const rate = (down: number | null, up: number | null) => ({ ...limitedBy(null, 1), rate: { down, up } });
    const shared = { name: "used_2026_11_others", bytes: 5_000_000, used: 0, atEnd: "told" } as const;
    const all = { ...limitedBy(shared, OTHERS - 100), mac: null, addresses: [] };
    const phone = { ...rate(9, 9), number: 7, mac: null, addresses: [ip("10.200.7.2")] };
    const steps: Limited[][] = [
      [limitedBy(QUOTAS[0] ?? null, 2)],
      [limitedBy(QUOTAS[0] ?? null, 2), rate(1_000, null)],
      [limitedBy(QUOTAS[0] ?? null, 2), rate(2_000, 3_000)],
      [
        { ...all, rate: { down: 7, up: null } },
        { ...rate(1, null), isShared: true },
        limitedBy(QUOTAS[2] ?? null, 2),
      ],
      [{ ...all, rate: { down: 8, up: null } }, { ...rate(null, null), isShared: true }, phone],
      [
        {
          ...limitedBy(QUOTAS[0] ?? null, 2),
          quota: { ...shared, name: "used_2026_11_28_a", bytes: 9, used: 8 },
        },
      ],
    ];
    // In any order.
    const listed = async (host: Host) =>
      (await listLimits(host))
        ?.split(/[\n,{}]/)
        .map((part) => part.trim())
        .toSorted();
    let before: Limiting | null = null;
    for (const [at, step] of steps.entries()) {
      const after = limitingOf(step, at === 4 ? ["lan0", "wgr"] : ["lan0"]);
      const text = before === null ? limitsFor(after) : limitsChange(before, after);
      await both.ask((host) => loadLimits(host, text));
      await show();
      const changed = await Promise.all([listed(both.fake), listed(both.real)]);
      await both.ask((host) => loadLimits(host, limitsFor(after)));
      expect(await Promise.all([listed(both.fake), listed(both.real)])).toEqual(changed);
      before = after;
    }
    // More than all of it cannot be used.
    const overdrawn = limitedBy({ name: "used_d", bytes: 1, used: 2, atEnd: "blocked" }, 1);
    expect(await both.play("nft -f -", limitsFor(limitingOf([overdrawn], ["lan0"])))).toBe("refused");
    expect((await show())[0]).toHaveLength(1);
    await both.ask((host) => loadLimits(host, NO_LIMITS));
    expect(await show()).toEqual([[], true]);
  });
});

const LIST = "nft -s -n list table inet portcullis";
const LOAD = "nft -e -s -n -f -";

describe("the firewall's table", () => {
  const RULESETS = [
    ...Object.entries(POLICIES).map(([name, policy]) => [name, rulesetOf(policy)] as const),
    ["open", openRulesetOf(POLICIES.connected)] as const,
    ["open without a tunnel", openRulesetOf(POLICIES.blocked)] as const,
    ["switching once more", rulesetOf(POLICIES.switching)] as const,
  ];

  alike("is listed as it was loaded last, and as it was echoed", async (both) => {
    expect(await both.play(LIST)).toBe("refused");
    for (const [, ruleset] of RULESETS) {
      await both.ask(async (host) => {
        const echoed = chainsEchoed(await loadTable(host, ruleset));
        expect(sameChains(echoed, chainsListed((await listTable(host)) ?? ""))).toBe(true);
        return [...echoed].map(([name, rules]) => [name, rules.length]).sort();
      });
      await both.play(LIST);
      await both.play("nft -j list chains");
    }
  });

  alike("takes elements of its sets and maps, all or none, and another program's are seen", async (both) => {
    const outcome = (...changes: Omit<ElementChange, "table">[]) =>
      both.ask((host) =>
        host.changeElements(changes.map((each) => ({ table: "portcullis", ...each }))).then(
          () => "done",
          ({ code }) => code,
        ),
      );
    const change = (verb: ElementChange["verb"], set: string, type: ElementType, ...elements: string[]) => ({
      ...{ verb, set, type, elements },
    });
    const device = (verb: ElementChange["verb"], set: string, mac: string) =>
      change(verb, set, "ether_addr", `02:00:00:00:00:${mac}`);
    const exit = (verb: ElementChange["verb"], mac: string, chain: string) =>
      change(verb, "exit_of", "ether_addr : verdict", `02:00:00:00:00:${mac} : goto ${chain}`);
    expect(await outcome(device("add", "on_main", "09"))).toBe("kernel_refused");
    await both.play(LOAD, rulesetOf(POLICIES.devices));
    const moves = [
      [device("delete", "on_main", "02"), device("add", "on_amsterdam", "02")],
      [exit("delete", "02", "exit_main"), exit("add", "02", "exit_amsterdam")],
      // What is there stays.
      [device("add", "on_amsterdam", "02"), exit("add", "02", "exit_amsterdam")],
    ];
    for (const move of moves) {
      expect(await outcome(...move)).toBe("done");
      await both.play(LIST);
    }
    const refused = [
      [device("add", "on_main", "09"), device("delete", "assigned", "08")],
      // It has another.
      [device("add", "on_main", "09"), exit("add", "02", "exit_main")],
      [device("add", "on_main", "09"), exit("delete", "09", "exit_main")],
    ];
    for (const move of refused) {
      expect(await outcome(...move)).toBe("kernel_refused");
      await both.play(LIST);
    }
    await both.meanwhile(
      (host) => host.changeElement("delete", "assigned", "02:00:00:00:00:02"),
      "nft delete element inet portcullis assigned { 02:00:00:00:00:02 }",
    );
    await both.play(LIST);
    await both.play(LOAD, rulesetOf({ ...POLICIES.connected, destinations: NAMED }));
    const address = (verb: ElementChange["verb"], family: 4 | 6, ...elements: string[]) =>
      change(verb, `named_all_main_2_ipv${family}`, `ipv${family}_addr`, ...elements);
    expect(await outcome(address("add", 4, "192.0.2.7", "192.0.2.8"), address("add", 6, "2001:db8::7"))).toBe(
      "done",
    );
    await both.play(LIST);
    expect(await outcome(address("delete", 4, "192.0.2.7"), address("delete", 4, "192.0.2.9"))).toBe(
      "kernel_refused",
    );
    await both.play(LIST);
    await both.play(LOAD, rulesetOf(POLICIES.direct));
    const servers = (verb: ElementChange["verb"], family: 4 | 6, ...all: string[]) =>
      change(verb, `servers_ipv${family}`, `ipv${family}_addr . inet_service`, ...all);
    expect(
      await outcome(servers("add", 4, "192.0.2.77 . 53"), servers("add", 6, "2001:db8::7 . 51820")),
    ).toBe("done");
    await both.play(LIST);
    expect(await outcome(servers("delete", 6, "2001:db8::7 . 51820"))).toBe("done");
    await both.play(LIST);
    const zones = (verb: ElementChange["verb"], ...all: string[]) =>
      change(verb, "direct_zones", "ct original zone", ...all);
    expect(await outcome(zones("add", "258", "4660"))).toBe("done");
    await both.play(LIST);
    expect(await outcome(zones("delete", "258"))).toBe("done");
    await both.play(LIST);
  });

  const DAMAGES: [what: string, fake: (host: Both["fake"]) => void, command: string][] = [
    ["removed", (host) => host.removeTable(), "delete table inet portcullis"],
    ["flushed", (host) => host.flushTable(), "flush table inet portcullis"],
    ["switched off", (host) => host.switchTableOff(), "add table inet portcullis { flags dormant; }"],
    [
      "opened by a rule in front",
      (host) => host.insertRule("output", "accept"),
      "insert rule inet portcullis output accept",
    ],
  ];

  for (const [what, fake, command] of DAMAGES) {
    alike(`that is ${what} is seen as it is, and whole after the next load`, async (both) => {
      const stands = () => both.ask(async (host) => finalRulesStand((await listTable(host)) ?? ""));
      await both.play(LOAD, rulesetOf(POLICIES.connected));
      expect(await stands()).toBe(true);
      await both.meanwhile(fake, `nft ${command}`);
      await both.play(LIST);
      expect(await stands()).toBe(what.startsWith("opened"));
      await both.play(LOAD, rulesetOf(POLICIES.connected));
      expect(await stands()).toBe(true);
      await both.play(LIST);
    });
  }

  alike("stays as it was where the next one is refused", async (both) => {
    await both.play(LOAD, rulesetOf(POLICIES.connected));
    const refused = rulesetOf(POLICIES.blocked).replace(/}\n$/, "  chain no { jump nowhere; }\n}\n");
    both.fake.fails = (count) => (both.fake.commands[count - 1] === LOAD ? "before" : null);
    expect(await both.play(LOAD, refused)).toBe("refused");
    await both.play(LIST);
    both.fake.fails = () => null;
    await both.play(LOAD, rulesetOf(POLICIES.blocked));
    await both.play(LIST);
  });

  alike("has others beside it, whose chains are listed", async (both) => {
    await both.play(LOAD, rulesetOf(POLICIES.blocked));
    const other = [
      "table ip filter {",
      "\tchain FORWARD {",
      "\t\ttype filter hook forward priority filter; policy drop;",
      "\t\tjump USER",
      "\t}",
      "",
      "\tchain USER {",
      '\t\tiifname "lan0" accept',
      "\t}",
      "}",
      "",
    ].join("\n");
    await both.real.run(["nft", "-f", "-"], { stdin: other });
    both.fake.setOtherTable("ip filter", other);
    await both.play("nft -j list chains");
    await both.play("nft -s list table ip filter");
    expect(await both.ask(droppingChains)).toEqual(["ip filter FORWARD"]);
    await both.meanwhile((fake) => fake.setOtherTable("ip filter", null), "nft delete table ip filter");
    await both.play("nft -j list chains");
    expect(await both.play("nft -s list table ip filter")).toBe("refused");
  });
});
