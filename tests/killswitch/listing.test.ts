import { describe, expect, test } from "bun:test";
import { existsSync } from "node:fs";
import { mustParseAddress } from "../../src/base/address.ts";
import {
  chainsEchoed,
  chainsListed,
  elementChanges,
  elementsAhead,
  finalRulesStand,
  isSet,
  sameChains,
  sameShape,
  setsIn,
} from "../../src/killswitch/listing.ts";
import type { Policy } from "../../src/killswitch/policy.ts";
import { openRulesetOf, rulesetOf } from "../../src/killswitch/ruleset.ts";
import { listTable, loadTable } from "../../src/killswitch/table.ts";
import { isServerSet } from "../../src/killswitch/wireguard-servers.ts";
import type { ElementChange, ElementType, Host } from "../../src/system/host.ts";
import { needsNamespaces } from "../fast.ts";
import { assigned, POLICIES } from "./example.ts";
import { inNamespace } from "./namespace.ts";

needsNamespaces.describe("the final rules are in place", () => {
  test.each(Object.entries(POLICIES))("in nft's listing of a gateway that is %s", (_, policy) =>
    inNamespace(async (host) => {
      await host.run(["nft", "-f", "-"], { stdin: rulesetOf(policy) });
      expect(finalRulesStand((await listTable(host)) ?? "")).toBe(true);
    }),
  );
});

needsNamespaces.describe("a listing is whole where its end is seen", () => {
  const tables = Object.entries(POLICIES).map(([name, policy]) => [name, rulesetOf(policy)] as const);
  const empty = "table inet portcullis {\n}\n";
  test.each([...tables, ["empty", empty] as const])("of a table that is %s", (_, ruleset) =>
    inNamespace(async (host) => {
      await host.run(["nft", "-f", "-"], { stdin: ruleset });
      const { argv, until } = await listingBy(host);
      const whole = await host.run(argv);
      expect(whole.indexOf(until) + until.length).toBe(whole.length);
    }),
  );

  test("and without a table, the error is seen", () =>
    inNamespace(async (host) => {
      const { argv, failure } = await listingBy(host);
      await expect(host.run(argv)).rejects.toThrow(failure);
      expect(await listTable(host)).toBe(null);
    }));

  /** How the table is listed. */
  async function listingBy(host: Host) {
    const given = { argv: [] as readonly string[], until: "", failure: "" };
    const run: Host["run"] = (argv, options) => {
      Object.assign(given, { argv, ...options });
      return host.run(argv, options);
    };
    await listTable({ run } as Host);
    return given;
  }
});

const STRACE = Bun.which("strace");
needsNamespaces.test.skipIf(STRACE === null)("nft prints nothing before the kernel has the table", () =>
  inNamespace(async (host) => {
    const traced = [STRACE ?? "", "-qq", "-e", "trace=sendmsg,write", "-e", "signal=none"];
    const run: Host["run"] = async (argv, options) => {
      const stdin = options?.stdin ?? "";
      const calls = await host.run(["sh", "-c", '"$@" 2>&1 >/dev/null', "sh", ...traced, ...argv], { stdin });
      const names = calls.split("\n").map((call) => call.split(",")[0]?.replace(/\(3.*/, ""));
      expect(names).toContain("write(1");
      expect(names.indexOf("write(1")).toBeGreaterThan(names.lastIndexOf("sendmsg"));
      expect(names).toContain("sendmsg");
      return "";
    };
    await loadTable({ run } as Host, rulesetOf(POLICIES.connected));
    expect(finalRulesStand((await listTable(host)) ?? "")).toBe(true);
    await loadTable({ run } as Host, rulesetOf(POLICIES["two-tunnels"]));
  }),
);

needsNamespaces.describe("nft's echo of a table that it loads equals its listing", () => {
  const reversed: Policy = { ...POLICIES.connected, uplink: "wan0" };
  test.each(Object.entries({ ...POLICIES, "with other names": reversed }))(
    "for a gateway that is %s",
    (_, policy) =>
      inNamespace(async (host) => {
        const echoed = chainsEchoed(await loadTable(host, rulesetOf(policy)));
        const listed = chainsListed((await listTable(host)) ?? "");
        expect(echoed.size).toBeGreaterThan(3);
        expect(sameChains(echoed, listed)).toBe(true);
        // As many rules as in the text: this is how a missing echo is noticed.
        expect(sameShape(echoed, chainsListed(rulesetOf(policy)))).toBe(true);
      }),
  );

  test.each([
    ["an element less", ["delete", "element", "inet", "portcullis", "assigned", "{ 02:00:00:00:00:01 }"]],
    ["an element more", ["add", "element", "inet", "portcullis", "on_main", "{ 02:00:00:00:00:09 }"]],
    ["a rule in front", ["insert", "rule", "inet", "portcullis", "output", "accept"]],
    ["one rule less", ["delete", "rule", "inet", "portcullis", "input", "handle", "HANDLE"]],
    ["a chain more", ["add", "chain", "inet", "portcullis", "more"]],
    ["another policy", ["chain", "inet", "portcullis", "output", "{ policy accept; }"]],
    ["a flushed chain", ["flush", "chain", "inet", "portcullis", "forward"]],
    ["a table that is switched off", ["add", "table", "inet", "portcullis", "{ flags dormant; }"]],
  ])("and %s is detected", (_, command) =>
    inNamespace(async (host) => {
      const echo = await loadTable(host, rulesetOf(POLICIES.devices));
      const withHandles = await host.run(["nft", "-a", "list", "chain", "inet", "portcullis", "input"]);
      const handle = /lo" accept .*# handle (\d+)/.exec(withHandles)?.[1] ?? "";
      await host.run(["nft", ...command.map((word) => word.replace("HANDLE", handle))]);
      expect(sameChains(chainsEchoed(echo), chainsListed((await listTable(host)) ?? ""))).toBe(false);
    }),
  );
});

needsNamespaces.test("hundreds of devices are listed as they were echoed, and as they were loaded", () =>
  inNamespace(async (host) => {
    const hex = (number: number) => number.toString(16).padStart(2, "0");
    const devices = Array.from({ length: 250 }, (_, number) =>
      assigned(`02:00:00:00:01:${hex(number)}`, number % 2 === 0 ? "main" : "amsterdam"),
    );
    const text = rulesetOf({ ...POLICIES["two-tunnels"], devices });
    const echoed = chainsEchoed(await loadTable(host, text));
    expect(sameChains(echoed, chainsListed((await listTable(host)) ?? ""))).toBe(true);
    expect(sameShape(echoed, chainsListed(text))).toBe(true);
  }),
);

const named = (addresses: readonly string[]): Policy => ({
  ...POLICIES.connected,
  destinations: [
    {
      ...{ prefixes: [], devices: [], exit: { to: "tunnel", name: "main" } },
      named: [{ labels: 2, addresses: addresses.map(mustParseAddress) }],
    },
  ],
});
const withDevices = (exits: readonly string[]): Policy => ({
  ...POLICIES.devices,
  devices: exits.map((exit, number) => assigned(`02:00:00:00:00:0${number + 1}`, exit)),
});
/** Tables that differ in elements only, in all kinds of sets. */
const ALTERED: Record<string, [from: Policy, to: Policy]> = {
  "devices move": [withDevices(["main", "amsterdam", "main"]), withDevices(["amsterdam", "main", "blocked"])],
  "devices are direct": [withDevices(["direct", "main"]), withDevices(["direct", "direct", "direct"])],
  "the first device comes": [withDevices([]), withDevices(["main"])],
  "the last device goes": [withDevices(["amsterdam"]), withDevices([])],
  "names have other addresses": [named(["192.0.2.7", "2001:db8::7"]), named(["192.0.2.8", "2001:db8::8"])],
};

describe("the changes of elements from one table to another", () => {
  const changes = (from: Policy, to: Policy) => elementChanges(rulesetOf(from), rulesetOf(to));
  const { devices } = POLICIES;

  test("are those of the devices that have moved, if nothing else differs", () => {
    const moved = [
      ...devices.devices.filter(({ id }) => !/0[13]$/.test(id)),
      assigned("02:00:00:00:00:01", "blocked"),
      assigned("02:00:00:00:00:05", "main"),
    ];
    const change = (verb: ElementChange["verb"], set: string, ...elements: string[]) => {
      const type: ElementType = set === "exit_of" ? "ether_addr : verdict" : "ether_addr";
      return { verb, table: "portcullis", set, type, elements };
    };
    expect(changes(devices, { ...devices, devices: moved })).toEqual([
      change("delete", "assigned", "02:00:00:00:00:03"),
      change("delete", "on_amsterdam", "02:00:00:00:00:01"),
      change(
        ...(["delete", "exit_of"] as const),
        "02:00:00:00:00:01 : goto exit_amsterdam",
        "02:00:00:00:00:03 : goto exit_blocked",
      ),
      change("add", "assigned", "02:00:00:00:00:05"),
      change("add", "on_main", "02:00:00:00:00:05"),
      change(
        ...(["add", "exit_of"] as const),
        "02:00:00:00:00:01 : goto exit_blocked",
        "02:00:00:00:00:05 : goto exit_main",
      ),
    ]);
    expect(changes(devices, { ...devices, devices: devices.devices.toReversed() })).toEqual([]);
  });

  test("switch the look-ups of devices on for the first device, and off after the last", () => {
    const none = { ...devices, devices: [] };
    const one = { ...devices, devices: [assigned("02:00:00:00:00:05", "main")] };
    const change = (verb: ElementChange["verb"], set: string, type: ElementType, ...elements: string[]) => {
      return { verb, table: "portcullis", set, type, elements };
    };
    const alike = (verb: ElementChange["verb"]) => change(verb, "all_alike", "nf_proto", "10", "2");
    const device = "02:00:00:00:00:05";
    expect(changes(none, one)).toEqual([
      alike("delete"),
      change("add", "assigned", "ether_addr", device),
      change("add", "on_main", "ether_addr", device),
      change("add", "exit_of", "ether_addr : verdict", `${device} : goto exit_main`),
    ]);
    expect(changes(one, none)?.at(-1)).toEqual(alike("add"));
  });

  test("of servers alone come ahead of another table, where both have their sets", () => {
    const ahead = (from: string, to: string) => elementsAhead(from, to, isServerSet);
    const [one, two] = [rulesetOf(POLICIES.connected), rulesetOf(POLICIES["two-tunnels"])];
    const added = { verb: "add", table: "portcullis", set: "servers_ipv4", type: "ipv4_addr . inet_service" };
    expect(ahead(one, two)).toEqual([{ ...added, elements: ["192.0.2.3 . 51820"] }] as ElementChange[]);
    // What the former table has more stays until it is replaced.
    expect(ahead(two, one)).toEqual([]);
    expect(ahead(one.replaceAll("servers_ipv6", "servers_before"), two)).toBeNull();
    expect(ahead(one, openRulesetOf({ ...POLICIES.connected, endpoints: [], carrying: [] }))).toBeNull();
  });

  needsNamespaces.test.each(Object.entries(ALTERED))(
    "make the kernel have what a whole load gives it: %s",
    (_, [from, to]) =>
      inNamespace(async (host) => {
        const listed = async () => chainsListed((await listTable(host)) ?? "");
        await loadTable(host, rulesetOf(to));
        const wanted = await listed();
        await loadTable(host, rulesetOf(from));
        const before = await listed();
        const there = changes(from, to) ?? [];
        const back = changes(to, from) ?? [];
        expect([there.length > 0, back.length > 0]).toEqual([true, true]);
        await host.changeElements(there);
        expect(sameChains(await listed(), wanted)).toBe(true);
        await host.changeElements(back);
        expect(sameChains(await listed(), before)).toBe(true);
        // What is gone cannot go once more.
        const again = host.changeElements(changes(to, from) ?? []);
        await expect(again).rejects.toMatchObject({ code: "kernel_refused" });
        expect(sameChains(await listed(), before)).toBe(true);
      }),
  );

  needsNamespaces.test.each(["::1.2.3.4", "::1:2", "::1", "::ffff:192.0.2.1", "64:ff9b::1.2.3.4"])(
    "are listed as they were given for a name that has the address %s",
    (address) =>
      inNamespace(async (host) => {
        const from = POLICIES["destinations-named-direct"];
        const learnt = (index: number) => (index === 1 ? [mustParseAddress(address)] : []);
        const destinations = from.destinations.map((each, index) => ({
          ...each,
          ...("named" in each && {
            named:
              each.named?.map((part) => ({ ...part, addresses: [...part.addresses, ...learnt(index)] })) ??
              [],
          }),
        }));
        const to = { ...from, destinations };
        await loadTable(host, rulesetOf(from));
        const there = changes(from, to) ?? [];
        expect(there).toHaveLength(1);
        await host.changeElements(there);
        const chains = chainsListed((await listTable(host)) ?? "");
        for (const [key, lines] of setsIn(rulesetOf(to))) expect(chains.get(key)).toEqual([...lines]);
      }),
  );

  test("are possible for each set that a table has", () => {
    for (const text of Object.values(POLICIES).map(rulesetOf)) {
      const sets = setsIn(text);
      const all = [...chainsListed(text)].filter(([key]) => isSet(key));
      expect([...sets]).toEqual(all);
      for (const [key] of sets) {
        const [, name = ""] = key.split(" ");
        const more = text.replace(
          new RegExp(`( (?:set|map) ${name} \\{\n.*\n)(?: {4}elements.*\n)?`),
          "$1    elements = { more }\n",
        );
        expect(elementChanges(text, more)?.at(-1)).toMatchObject({ set: name, elements: ["more"] });
      }
    }
  });

  test("do not exist if a rule differs, or if a set comes or goes", () => {
    expect(changes(devices, { ...devices, carrying: devices.carrying.slice(0, 1) })).toBeNull();
    expect(changes(devices, { ...devices, defaultExit: { to: "blocked" } })).toBeNull();
    const direct = { ...devices, devices: [assigned("02:00:00:00:00:01", "direct")] };
    expect(changes(devices, direct)).toBeNull();
    expect(changes(direct, devices)).toBeNull();
  });
});

needsNamespaces.test(
  "the spelling of a listing does not depend on the names that the machine's files give to numbers",
  () =>
    inNamespace(async (host) => {
      await loadTable(host, rulesetOf(POLICIES.connected));
      const without =
        "for file in /etc/protocols /etc/services; do [ ! -e $file ] || mount --bind /dev/null $file; done";
      // Debian 13 has the second folder only.
      const folder = ["/etc/iproute2", "/usr/share/iproute2"].find((each) => existsSync(each));
      const named = `mount -t tmpfs none ${folder} && echo '0x104c vpn' > ${folder}/rt_marks`;
      const listings = [without, named].map((files) => {
        const run: Host["run"] = (argv) =>
          host.run(["unshare", "--mount", "sh", "-c", `${files} && exec "$@"`, "sh", ...argv]);
        return listTable({ run } as Host);
      });
      const [here, ...elsewhere] = [await listTable(host), ...(await Promise.all(listings))];
      expect(here).not.toBeNull();
      for (const listing of elsewhere) expect(listing).toBe(here);
    }),
);

needsNamespaces.describe("a table that is switched off", () => {
  test("lets everything pass, is recognised as switched off, and blocks again after the next load", () =>
    inNamespace(async (host) => {
      const run = (command: string) => host.run(command.split(" "));
      await run("ip link add up0 type veth peer name up1");
      for (const end of ["up0", "up1"]) await run(`ip link set ${end} addrgenmode none up`);
      await run("ip address add 198.51.100.2/24 dev up0");
      await run("ip neighbour add 198.51.100.9 lladdr 02:00:00:00:00:09 dev up0");
      const packetsOut = async () => {
        await host.run(["bash", "-c", "echo > /dev/udp/198.51.100.9/9"]).catch(() => "");
        const [shown] = JSON.parse(await run("ip -j -s link show dev up0"));
        return shown.stats64.tx.packets as number;
      };
      expect(await packetsOut()).toBe(1);
      await loadTable(host, rulesetOf(POLICIES.blocked));
      expect(await packetsOut()).toBe(1);
      await host.run(["nft", "add", "table", "inet", "portcullis", "{ flags dormant; }"]);
      expect(await packetsOut()).toBe(2);
      expect(finalRulesStand((await listTable(host)) ?? "")).toBe(false);
      await loadTable(host, rulesetOf(POLICIES.blocked));
      expect(await packetsOut()).toBe(2);
      expect(finalRulesStand((await listTable(host)) ?? "")).toBe(true);
    }));
});

describe("the final rules are not in place", () => {
  const text = rulesetOf(POLICIES.connected);

  test.each([
    ["without a table", ""],
    ["in the open ruleset", openRulesetOf(POLICIES.connected)],
    ["without its input chain", text.replace("chain input {", "chain inpu {")],
    ["without its forward chain", text.replace("chain forward {", "chain forwar {")],
    ["without its output chain", text.replace("chain output {", "chain outpu {")],
    [
      "if a chain accepts by policy",
      text.replace("output priority filter; policy drop", "output priority filter; policy accept"),
    ],
    [
      "if a chain is not hooked",
      text.replace("    type filter hook forward priority filter; policy drop;\n", ""),
    ],
    ["if input ends in something else", text.replace(/^ {4}drop comment "during a reload.*\n/m, "")],
    [
      "if a chain ends in an accept",
      text.replace(/( {4}reject with icmpx admin-prohibited .*\n)/g, "$1    accept\n"),
    ],
  ])("%s", (_, listing) => {
    expect(listing).not.toBe(text);
    expect(finalRulesStand(listing)).toBe(false);
  });

  needsNamespaces.test("if a chain was flushed", () =>
    inNamespace(async (host) => {
      await host.run(["nft", "-f", "-"], { stdin: text });
      await host.run(["nft", "flush", "chain", "inet", "portcullis", "forward"]);
      expect(finalRulesStand((await listTable(host)) ?? "")).toBe(false);
    }),
  );
});
