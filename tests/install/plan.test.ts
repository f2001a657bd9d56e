import { expect, test } from "bun:test";
import { join } from "node:path";
import { settingsFrom } from "../../src/base/settings.ts";
import { DHCP_UNIT } from "../../src/dhcp/files.ts";
import { UNIT_DIGEST } from "../../src/dhcp/unit.ts";
import { type GivenSettings, givenIn } from "../../src/install/environment.ts";
import type { Machine } from "../../src/install/machine.ts";
import { FIREWALL_MODULES } from "../../src/install/modules.ts";
import { PATHS, UNITS } from "../../src/install/paths.ts";
import { installPlan } from "../../src/install/plan.ts";
import { staysText, uninstallPlan } from "../../src/install/removal.ts";
import { headOf, type Plan, textOf } from "../../src/install/step.ts";
import { dhcpUnit, unitsFor } from "../../src/install/units.ts";
import { rulesFor } from "../../src/killswitch/routing-rules.ts";
import { openRulesetOf, rulesetOf } from "../../src/killswitch/ruleset.ts";
import { countersFor } from "../../src/network/counters.ts";
import { BY_HAND, PACKAGED } from "../../src/system/layout.ts";
import { cidr } from "../fake/address.ts";
import { needsNamespaces } from "../fast.ts";
import { expectGolden } from "../golden/golden.ts";
import { POLICIES } from "../killswitch/example.ts";
import { inNamespace } from "../killswitch/namespace.ts";
import { ALL_BY_HAND, ONE_CABLE, TWO_CABLES } from "./example.ts";

const BASE = { version: "1.2.3", packages: [] };

function plan(machine: Machine, given: GivenSettings) {
  return installPlan({ ...BASE, machine, given, layout: BY_HAND, program: "/home/pi/portcullis" });
}

const ULA = "fd12:3456:789a::/48";

/** What a server has in its environment that this program's unit has started. */
function startedWith(program: string): string | null {
  return /^Environment=(.+)$/m.exec(dhcpUnit(program))?.[1] ?? null;
}

function expectPlan(name: string, steps: Plan): Promise<void> {
  return expectGolden(join(import.meta.dir, name), textOf(steps));
}

test("a first installation on a Pi with one cable: every file and command, word for word", async () => {
  await expectPlan("one-cable.plan", plan(ONE_CABLE, {}));
});

test("an upgrade with new settings keeps earlier notes and settings, and copies the account's files", async () => {
  const given: GivenSettings = {
    lan: "eth1,br-lan.5",
    managedKeyFile: "/home/pi/key",
    managedAddress: "10.0.0.2/32, fd00::2/128",
  };
  await expectPlan("two-cables.plan", plan(TWO_CABLES, given));
});

test("boots turn forwarding on only once the kill switch is enabled, and no longer once it is disabled", () => {
  const stepsAt = (steps: Plan, ...texts: string[]) =>
    texts.map((text) => steps.findIndex((step) => headOf(step).includes(text)));
  const [enabled = -1, on = -1] = stepsAt(plan(ONE_CABLE, {}), "systemctl enable", PATHS.sysctls);
  expect(enabled).toBeGreaterThan(-1);
  expect(on).toBeGreaterThan(enabled);
  const removal = uninstallPlan({
    machine: { sysctlsBefore: "net/ipv4/ip_forward = 0\n" },
    remains: {
      units: UNITS,
      network: [],
      addresses: [],
      tables: ["inet portcullis"],
      rules: [],
      queues: [],
      routes: [],
    },
    ...{ forwarders: [], keepState: true, byHand: ALL_BY_HAND },
  });
  const order = stepsAt(removal, PATHS.sysctls, "systemctl disable", "set ipv4/ip_forward", "nft delete");
  expect(order).toEqual(order.toSorted((one, other) => one - other));
  expect(order[0]).toBeGreaterThan(-1);
});

test("with DHCP, the steps for its server come too: every file and command, word for word", async () => {
  const plain = plan(ONE_CABLE, {});
  const steps = plan(ONE_CABLE, { dhcp: "on", ula: ULA });
  const added = steps.filter((step) => !plain.some((other) => Bun.deepEquals(step, other)));
  await expectPlan("dhcp.plan", added);
});

test("an upgrade restarts the DHCP server only if its files have changed since it started, and without DHCP it is removed", () => {
  const given = { dhcp: "on", ula: ULA };
  const textAt = (path: string) => {
    const step = plan(ONE_CABLE, given).find((each) => each.do === "write" && each.path === path);
    return step?.do === "write" ? step.text : null;
  };
  const dhcp = {
    config: textAt("/etc/portcullis-dhcp.conf"),
    unit: textAt("/etc/systemd/system/portcullis-dhcp.service"),
    started: startedWith(BY_HAND.program),
  };
  const heads = (present: Machine["dhcp"], settings: GivenSettings) =>
    plan({ ...ONE_CABLE, dhcp: present, environment: "PORTCULLIS_DHCP=on\n" }, settings)
      .map(headOf)
      .filter((head) => head.includes("portcullis-dhcp"));
  expect(heads(dhcp, given).at(-1)).toBe("run systemctl --no-block start portcullis-dhcp.service");
  for (const change of [{ config: "other\n" }, { started: `${UNIT_DIGEST}=other` }, { started: null }])
    expect(heads({ ...dhcp, ...change }, {}).at(-1)).toBe(
      "run systemctl --no-block restart portcullis-dhcp.service",
    );
  expect(heads(dhcp, { dhcp: "off" })).toEqual([
    "run systemctl disable --now portcullis-dhcp.service",
    "remove /etc/systemd/system/portcullis-dhcp.service",
    "remove /etc/portcullis-dhcp.conf",
  ]);
  expect(heads({ ...dhcp, unit: null }, { dhcp: "off" }).at(-1)).toBe("remove /etc/portcullis-dhcp.conf");
  expect(heads({ config: null, unit: null, started: null }, { dhcp: "off" })).toEqual([]);
});

test("the DHCP server's configuration changes right before it starts again, so a failed installation hides no change", () => {
  const heads = plan(ONE_CABLE, { dhcp: "on", ula: ULA }).map(headOf);
  expect(heads.slice(-5)).toEqual([
    "run systemctl restart portcullis.service",
    "write /etc/portcullis-dhcp.conf (mode 644)",
    "run dnsmasq --test --conf-file=/etc/portcullis-dhcp.conf",
    "run systemctl --no-block restart portcullis-dhcp.service",
    "write /etc/portcullis/setup-version (mode 644)",
  ]);
});

test("the rule for network managers names the tunnels' interfaces, whatever their base name is", () => {
  const rule = plan(ONE_CABLE, { interface: "vpn" }).find(
    (step) => step.do === "write" && step.path === "/etc/udev/rules.d/90-portcullis.rules",
  );
  expect(rule?.do === "write" && rule.text).toContain('KERNEL=="vpn0|vpn1|vpn2|');
});

test("the plan never shows a key: files with keys are copied, not written", () => {
  const text = textOf(plan(ONE_CABLE, { managedKeyFile: "/home/pi/key", managedList: "/home/pi/list.json" }));
  expect(text).toContain("copy /home/pi/key to /etc/portcullis/managed.key (mode 600)");
  expect(text).toContain("PORTCULLIS_MANAGED_KEY_FILE=/etc/portcullis/managed.key");
});

test("the plan never shows where notifications go, and a file with the addresses is copied", () => {
  const shown = (given: GivenSettings) =>
    textOf(plan({ ...ONE_CABLE, environment: "PORTCULLIS_LAN=eth0\n" }, given));
  for (const notify of [
    "ntfy://:SECRET@ntfy.sh/topic",
    "https://example.com/a?b=SECRET,gotify://x.example/SECRET",
  ])
    expect(shown({ notify })).toMatch(/^ {4}PORTCULLIS_NOTIFY=\(not shown\)$/m);
  expect(shown({ notify: "ntfy://:SECRET@ntfy.sh/topic" })).not.toContain("SECRET");
  const present = "PORTCULLIS_NOTIFY = 'ntfy://:SECRET@ntfy.sh/topic'\n";
  expect(textOf(plan({ ...ONE_CABLE, environment: present }, {}))).not.toContain("SECRET");
  const [copy] = plan(ONE_CABLE, { notify: "/home/pi/notify" }).filter(
    (step) => step.do === "copy" && step.path === "/etc/portcullis/notify",
  );
  expect(copy).toEqual({
    ...{ do: "copy", from: "/home/pi/notify", path: "/etc/portcullis/notify", mode: 0o600 },
  });
  expect(plan(ONE_CABLE, { notify: "/etc/portcullis/notify" })).not.toContainEqual(copy);
});

test("the password and the authority of a broker are copied too", () => {
  const files = {
    mqtt: "mqtts://ha@192.168.1.10",
    mqttPasswordFile: "/home/pi/pw",
    mqttCaFile: "/home/pi/ca.pem",
  };
  const text = textOf(plan(ONE_CABLE, files));
  expect(text).toContain("copy /home/pi/pw to /etc/portcullis/mqtt.password (mode 600)");
  expect(text).toContain("copy /home/pi/ca.pem to /etc/portcullis/mqtt-ca.pem (mode 600)");
  expect(text).toContain("PORTCULLIS_MQTT=mqtts://ha@192.168.1.10\n");
  expect(text).toContain("PORTCULLIS_MQTT_PASSWORD_FILE=/etc/portcullis/mqtt.password");
  expect(text).toContain("PORTCULLIS_MQTT_CA_FILE=/etc/portcullis/mqtt-ca.pem");
});

test("with the broker, its password and authority are gone, and the right to command", () => {
  const environment = [
    "PORTCULLIS_MQTT=mqtts://ha@192.168.1.10",
    "PORTCULLIS_MQTT_PASSWORD_FILE=/etc/portcullis/mqtt.password",
    "PORTCULLIS_MQTT_CA_FILE=/etc/portcullis/mqtt-ca.pem",
    "PORTCULLIS_MQTT_COMMANDS=on",
  ].join("\n");
  const steps = plan({ ...ONE_CABLE, environment }, { mqtt: "" });
  const { mqtt, mqttPasswordFile, mqttCaFile, mqttCommands } = settingsFrom(
    givenIn(
      steps
        .flatMap((step) => (step.do === "write" && step.path === PATHS.environment ? step.text : []))
        .join(),
    ),
  );
  expect([mqtt, mqttPasswordFile, mqttCaFile, mqttCommands]).toEqual([null, null, null, false]);
  for (const path of [PATHS.mqttPassword, PATHS.mqttCa])
    expect(steps.filter((step) => "path" in step && step.path === path)).toEqual([{ do: "remove", path }]);
  expect(textOf(plan({ ...ONE_CABLE, environment }, { dhcp: "off" }))).not.toContain(
    "remove /etc/portcullis/mqtt",
  );
});

const SETUP = { ...BASE, given: {}, layout: PACKAGED, program: PACKAGED.program };
/** What only the first of the plans has. */
const without = (steps: Plan, others: Plan) =>
  steps.filter((step) => !others.some((other) => Bun.deepEquals(step, other)));

test("setup of the package is an installation without the program and its units", () => {
  const setup = installPlan({ ...SETUP, machine: ONE_CABLE });
  const byHand = plan(ONE_CABLE, {});
  expect(without(setup, byHand)).toEqual([]);
  expect(without(byHand, setup).map(headOf)).toEqual([
    "copy /home/pi/portcullis to /usr/local/bin/portcullis (mode 755)",
    "write /etc/systemd/system/portcullis-killswitch.service (mode 644)",
    "write /etc/systemd/system/portcullis-clock.service (mode 644)",
    "write /etc/systemd/system/portcullis.service (mode 644)",
  ]);
  const dhcp = { dhcp: "on", ula: ULA };
  const served = installPlan({ ...SETUP, given: dhcp, machine: ONE_CABLE });
  expect(without(plan(ONE_CABLE, dhcp), served).map(headOf).slice(4)).toEqual([
    "write /etc/systemd/system/portcullis-dhcp.service (mode 644)",
  ]);
});

test("setup takes over an installation by hand: its units go once the package's are there, its program at the end", () => {
  const machine = { ...ONE_CABLE, byHand: ALL_BY_HAND };
  const heads = installPlan({ ...SETUP, machine }).map(headOf);
  expect(heads.slice(heads.findIndex((head) => head.startsWith("run nft -c")))).toEqual([
    "run nft -c -f /var/lib/portcullis/boot/firewall.nft",
    "remove /etc/systemd/system/portcullis-killswitch.service",
    "remove /etc/systemd/system/portcullis-clock.service",
    "remove /etc/systemd/system/portcullis.service",
    "remove /etc/systemd/system/portcullis-dhcp.service",
    "run systemctl daemon-reload",
    "run systemctl enable portcullis-killswitch.service portcullis-clock.service portcullis.service",
    "write /etc/sysctl.d/90-portcullis.conf (mode 644)",
    "run systemctl start portcullis-killswitch.service",
    "run systemctl restart portcullis.service",
    "remove /usr/local/bin/portcullis",
    "write /etc/portcullis/setup-version (mode 644)",
  ]);
});

test("the package's own unit is no sign of a DHCP server, and one by hand is replaced by it", () => {
  const packaged = unitsFor(PACKAGED.program)[DHCP_UNIT] ?? "";
  const byHand = unitsFor(BY_HAND.program)[DHCP_UNIT] ?? "";
  const on = { dhcp: "on", ula: ULA };
  const config = plan(ONE_CABLE, on).flatMap((step) =>
    step.do === "write" && step.path === "/etc/portcullis-dhcp.conf" ? [step.text] : [],
  )[0] as string;
  const heads = (dhcp: Machine["dhcp"], given: GivenSettings) =>
    installPlan({ ...SETUP, given, machine: { ...ONE_CABLE, dhcp } })
      .map(headOf)
      .filter((head) => head.includes("portcullis-dhcp"));
  const started = startedWith(PACKAGED.program);
  expect(heads({ config: null, unit: packaged, started: null }, {})).toEqual([]);
  expect(heads({ config, unit: packaged, started }, on).at(-1)).toBe(
    "run systemctl --no-block start portcullis-dhcp.service",
  );
  // dpkg has placed the unit of the new version.
  for (const other of [startedWith(BY_HAND.program), null])
    expect(heads({ config, unit: packaged, started: other }, on).at(-1)).toBe(
      "run systemctl --no-block restart portcullis-dhcp.service",
    );
  expect(heads({ config, unit: byHand, started: startedWith(BY_HAND.program) }, on).at(-1)).toBe(
    "run systemctl --no-block restart portcullis-dhcp.service",
  );
  expect(heads({ config, unit: packaged, started }, {})).toEqual([
    "run systemctl disable --now portcullis-dhcp.service",
    "remove /etc/portcullis-dhcp.conf",
  ]);
});

test("if programs are missing, the plan starts with the command that installs them", () => {
  const packages = ["apt-get", "install", "nftables"];
  const [first] = installPlan({
    ...{ ...BASE, machine: ONE_CABLE, given: {}, layout: BY_HAND, program: "/home/pi/portcullis" },
    packages,
  });
  expect(first).toEqual({ do: "run", argv: packages });
});

test("a list file is copied, and a list address is not", () => {
  const copied = (managedList: string) =>
    plan(ONE_CABLE, { managedList }).flatMap((step) => (step.do === "copy" ? [step.path] : []));
  expect(copied("https://example.com/list.json?all")).toEqual(["/usr/local/bin/portcullis"]);
  expect(copied("/home/pi/list.json")).toEqual(["/usr/local/bin/portcullis", "/etc/portcullis/managed.json"]);
});

test("LAN and uplink are written as found, unless a flag or an earlier installation names them", () => {
  const environmentOf = (environment: string | null, given: GivenSettings) => {
    const steps = plan({ ...ONE_CABLE, environment }, given);
    const file = steps.find((step) => step.do === "write" && step.path.endsWith("portcullis.env"));
    return file?.do === "write" ? file.text.match(/^PORTCULLIS_(LAN|UPLINK)=.*$/gm) : null;
  };
  expect(environmentOf(null, {})).toEqual(["PORTCULLIS_LAN=eth0", "PORTCULLIS_UPLINK=eth0"]);
  expect(environmentOf("PORTCULLIS_LAN=\n", {})).toEqual(["PORTCULLIS_LAN=", "PORTCULLIS_UPLINK=eth0"]);
  expect(environmentOf("PORTCULLIS_LAN=wlan0\n", { uplink: "eth1" })).toEqual([
    "PORTCULLIS_LAN=wlan0",
    "PORTCULLIS_UPLINK=eth1",
  ]);
});

test("an uninstallation undoes everything, the tunnel first and then the kill switch", async () => {
  const removal = uninstallPlan({
    machine: { sysctlsBefore: "net/ipv4/conf/eth0/send_redirects = 1\nnet/ipv4/ip_forward = 0\n" },
    remains: {
      units: ["portcullis.service", "portcullis-killswitch.service"],
      network: ["portcullis0"],
      addresses: [{ interface: "eth0", prefix: cidr("fd12:3456:789a:b5f5::1/64") }],
      tables: [
        "inet portcullis",
        "inet portcullis_traffic",
        "inet portcullis_bounds",
        "inet portcullis_limits",
      ],
      rules: rulesFor(ONE_CABLE.network),
      queues: ["eth0", "portcullis0"],
      routes: [{ family: 4, table: 20565 }],
    },
    forwarders: [],
    keepState: false,
    byHand: ALL_BY_HAND,
  });
  await expectPlan("uninstall.plan", removal);
});

test("an uninstallation leaves the package's program and units to dpkg", () => {
  const rest = {
    machine: { sysctlsBefore: null },
    remains: { units: UNITS, network: [], addresses: [], tables: [], rules: [], queues: [], routes: [] },
    ...{ forwarders: [], keepState: true },
  };
  const byHand = uninstallPlan({ ...rest, byHand: ALL_BY_HAND });
  const packaged = uninstallPlan({ ...rest, byHand: { units: [], programs: [] } });
  expect(without(byHand, packaged).map(headOf)).toEqual([
    "remove /etc/systemd/system/portcullis-killswitch.service",
    "remove /etc/systemd/system/portcullis-clock.service",
    "remove /etc/systemd/system/portcullis.service",
    "remove /etc/systemd/system/portcullis-dhcp.service",
    "remove /usr/local/bin/portcullis",
  ]);
  expect(without(packaged, byHand)).toEqual([]);
});

test("forwarding stays on if another program needs it, and the message says how to turn it off", () => {
  const sysctlsBefore =
    "net/ipv4/conf/eth0/send_redirects = 1\nnet/ipv4/ip_forward = 0\nnet/ipv6/conf/all/forwarding = 0\n";
  const remains = { units: [], network: [], addresses: [], tables: [], rules: [], queues: [], routes: [] };
  const removal = (forwarders: string[], before = sysctlsBefore) => ({
    machine: { sysctlsBefore: before },
    remains,
    forwarders,
    keepState: true,
    byHand: ALL_BY_HAND,
  });
  const set = (one: ReturnType<typeof removal>) =>
    uninstallPlan(one).flatMap((step) => (step.do === "sysctl" ? [`${step.path} = ${step.value}`] : []));
  expect(set(removal(["docker0"]))).toEqual(["ipv4/conf/eth0/send_redirects = 1"]);
  expect(staysText(removal(["docker0", "ip nat POSTROUTING"]))).toBe(
    "Forwarding stays on because other programs may need it (docker0, ip nat POSTROUTING). To turn it off: sudo sysctl -w net.ipv6.conf.all.forwarding=0 net.ipv4.ip_forward=0",
  );
  expect(set(removal([]))).toContain("ipv4/ip_forward = 0");
  expect(staysText(removal([]))).toBe("");
  const on = removal(["docker0"], "net/ipv4/ip_forward = 1\n");
  expect([set(on), staysText(on)]).toEqual([["ipv4/ip_forward = 1"], ""]);
});

test("an uninstallation that keeps the state removes no file with servers, keys or settings", () => {
  const remains = { units: [], network: [], addresses: [], tables: [], rules: [], queues: [], routes: [] };
  const kept = textOf(
    uninstallPlan({
      ...{ machine: { sysctlsBefore: null }, remains, forwarders: [], byHand: ALL_BY_HAND },
      keepState: true,
    }),
  );
  expect(kept).not.toContain("portcullis.env");
  expect(kept).not.toContain("managed");
  expect(kept).not.toContain("mqtt");
  expect(kept).not.toMatch(/remove \/var\/lib\/portcullis$/m);
});

test("an uninstallation removes every file that an installation creates", () => {
  const given: GivenSettings = {
    managedKeyFile: "/home/pi/key",
    managedList: "/home/pi/list",
    mqttPasswordFile: "/home/pi/pw",
    mqttCaFile: "/home/pi/ca.pem",
  };
  const made = plan(ONE_CABLE, given).flatMap((step) => ("path" in step ? [step.path] : []));
  const remains = { units: [], network: [], addresses: [], tables: [], rules: [], queues: [], routes: [] };
  const removed = uninstallPlan({
    machine: { sysctlsBefore: null },
    remains,
    forwarders: [],
    keepState: false,
    byHand: ALL_BY_HAND,
  }).flatMap((step) => (step.do === "remove" ? [step.path] : []));
  const left = made.filter((path) => !removed.some((gone) => path === gone || path.startsWith(`${gone}/`)));
  expect(left).toEqual([]);
});

/** Expressions that are part of `nf_tables` itself (Linux 6.1, net/netfilter/Makefile). */
const BUILT_IN = [
  "bitwise",
  "byteorder",
  "cmp",
  "counter",
  "dynset",
  "exthdr",
  "immediate",
  "lookup",
  "meta",
  "payload",
  "rt",
];
/** The modules of the others, in a table of the family inet. */
const MODULE_OF: Record<string, string> = {
  ct: "nft_ct",
  fib: "nft_fib_inet",
  hash: "nft_hash",
  masq: "nft_masq",
  nat: "nft_nat",
  notrack: "nft_ct",
  reject: "nft_reject_inet",
  socket: "nft_socket",
};

needsNamespaces.test(
  "a boot loads exactly the kernel modules that the gateway's tables use, and that which ends connections",
  () =>
    inNamespace(async (host) => {
      const tables = [
        ...Object.values(POLICIES).flatMap((policy) => [rulesetOf(policy), openRulesetOf(policy)]),
        countersFor({ lans: ["lan0"], remote: "wgr", meshes: [], uplink: "lan0", networks: [] }),
      ];
      const used = new Set(["nf_tables", "nf_conntrack_netlink"]);
      for (const stdin of tables) {
        // The expressions as they are sent to the kernel: `[ fib daddr type => reg 1 ]`.
        const sent = await host.run(["nft", "--debug=netlink", "-c", "-f", "-"], { stdin });
        for (const [, name = ""] of sent.matchAll(/^ *\[ (\w+) /gm))
          if (!BUILT_IN.includes(name)) used.add(MODULE_OF[name] ?? `the module of ${name}`);
        if (/type nat hook/.test(stdin)) used.add("nft_chain_nat");
      }
      expect(FIREWALL_MODULES.toSorted()).toEqual([...used].sort());
    }),
);
