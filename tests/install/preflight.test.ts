import { describe, expect, test } from "bun:test";
import { GatewayError } from "../../src/base/errors.ts";
import { settingsFrom } from "../../src/base/settings.ts";
import { answered, repaired } from "../../src/install/answers.ts";
import { assertFiles } from "../../src/install/plan.ts";
import {
  assertCommand,
  assertFit,
  assertNotCutOff,
  assertPorts,
  warningsFor,
} from "../../src/install/preflight.ts";
import type { HostNetwork } from "../../src/network/host-network.ts";
import { BY_HAND, type Layout, PACKAGED, setupCommand } from "../../src/system/layout.ts";
import { LinuxHost } from "../../src/system/linux.ts";
import { cidrs } from "../fake/address.ts";
import { needsRoot } from "../fast.ts";
import { ONE_CABLE } from "./example.ts";

const DEFAULTS = settingsFrom({});

function refusal(work: () => void): string {
  try {
    work();
  } catch (error) {
    if (error instanceof GatewayError) return `${error.code}: ${error.message}`;
    throw error;
  }
  return "";
}

test("a suitable machine is not refused", () => {
  const own = process.arch === "x64" ? "amd64" : process.arch;
  expect(refusal(() => assertFit({ ...ONE_CABLE, architecture: own }, DEFAULTS, {}))).toBe("");
});

test("a file that a flag names is looked for before anything is done; addresses and lists are left alone", async () => {
  const host = { read: async (path: string) => (path === "/there" ? "text" : null) };
  const found = (given: Parameters<typeof assertFiles>[1]) =>
    assertFiles(host, given).then(
      () => "",
      (error: GatewayError) => error.message,
    );
  expect(await found({ managedList: "https://example.net/list", managedKeyFile: "/there" })).toBe("");
  expect(await found({ notify: "/missing,ntfy://a/b" })).toBe("");
  for (const [key, flag] of [
    ["managedList", "managed-list"],
    ["managedKeyFile", "managed-key-file"],
    ["notify", "notify"],
    ["mqttPasswordFile", "mqtt-password-file"],
    ["mqttCaFile", "mqtt-ca-file"],
  ] as const)
    expect(await found({ [key]: "/missing" })).toBe(
      `--${flag}: there is no file /missing, or it cannot be read`,
    );
});

test("a certificate that the service could not read or use is refused before anything is done", async () => {
  const host = { read: async () => null };
  const refused = (httpsCert: string, httpsKey: string) =>
    assertFiles(host, { httpsCert, httpsKey }).then(
      () => "",
      (error: GatewayError) => error.message,
    );
  expect(await refused("/etc/a.pem", "/etc/b.pem")).toBe(
    "--https-cert: there is no file /etc/a.pem, or it cannot be read",
  );
  for (const home of ["/home/pi/b.pem", "/root/b.pem"])
    expect(await refused("/etc/a.pem", home)).toBe(
      `--https-key: the service cannot read ${home}, because it is in a home folder; put it elsewhere, such as below /etc`,
    );
});

test("a port at which another program listens is refused, and that of the installed service is not", async () => {
  const listening = (local: string) => ({
    run: async () => `LISTEN 0      4096   ${local}      0.0.0.0:*    users:(("docker-proxy",pid=7,fd=4))\n`,
  });
  const refused = (local: string, host = "::", environment: string | null = null) =>
    assertPorts(listening(local), environment, { host, port: 5000, https: null }).then(
      () => false,
      (error: GatewayError) => error.message,
    );
  const message =
    "--port: docker-proxy already listens on port 5000; end it, or choose another port with --port";
  for (const local of [
    "0.0.0.0:5000",
    "*:5000",
    "[::]:5000",
    "127.0.0.1:5000",
    "[::1]:5000",
    "192.168.1.2%eth0:5000",
  ])
    expect(await refused(local)).toBe(message);
  expect(await refused("127.0.0.1:5000", "127.0.0.1")).toBe(message);
  expect(await refused("0.0.0.0:5000", "127.0.0.1")).toBe(message);
  expect(await refused("192.168.1.2:5000", "127.0.0.1")).toBe(false);
  expect(await refused("*:5000", "::", "PORTCULLIS_PORT=5000\n")).toBe(false);
  expect(await refused("*:5000", "::", "#PORTCULLIS_PORT=5000\n")).toBe(false);
  expect(await refused("*:5000", "::", "PORTCULLIS_PORT=80\n")).toBe(message);
  await assertPorts({ run: async () => "" }, null, { host: "::", port: 5000, https: 5443 });
  const atHttps = {
    run: async (argv: readonly string[]) =>
      argv.join().includes(":5443") ? "LISTEN 0 4096 *:5443 *:* " : "",
  };
  const https = assertPorts(atHttps, null, { host: "::", port: 5000, https: 5443 });
  await expect(https).rejects.toThrow(
    "--https: another program already listens on port 5443; end it, or choose another port with --https",
  );
  await assertPorts(atHttps, "PORTCULLIS_HTTPS=on\n", { host: "::", port: 5000, https: 5443 });
});

needsRoot.test("the program that listens is found as ss shows it", async () => {
  const listener = Bun.listen({ hostname: "127.0.0.1", port: 0, socket: { data() {} } });
  const work = assertPorts(new LinuxHost(), null, { host: "::", port: listener.port, https: null });
  await expect(work).rejects.toThrow(`already listens on port ${listener.port}`);
  listener.stop(true);
});

test("another architecture, no systemd and no network are refused, and the message says what to do", () => {
  const refused = (change: Partial<typeof ONE_CABLE>) =>
    refusal(() => assertFit({ ...ONE_CABLE, ...change }, DEFAULTS, {}));
  expect(refused({ architecture: "armhf" })).toContain("this system is armhf; use a 64-bit system");
  expect(refused({ systemd: false })).toContain("run the gateway with: portcullis serve");
  expect(refused({ network: { ...ONE_CABLE.network, lans: [] } })).toContain("connect the cable");
});

test("a kernel whose modules are gone is refused, and the message says what to do", () => {
  const machine = { ...ONE_CABLE, withoutModules: "6.6.20+rpt-rpi-v8" };
  expect(refusal(() => assertFit(machine, DEFAULTS, {}))).toBe(
    "unable: the modules of the running kernel 6.6.20+rpt-rpi-v8 are gone, as after an upgrade of the kernel: restart the machine, then run this command again",
  );
});

test("an overlay file system and conflicting rules are refused, and the message says what to do", () => {
  const refused = (change: Partial<typeof ONE_CABLE>) =>
    refusal(() => assertFit({ ...ONE_CABLE, ...change }, DEFAULTS, {}));
  expect(refused({ forgetful: ["/etc"] })).toContain("turn off the overlay file system first");
  expect(refused({ foreignRules: ["50 fwmark 0x1 lookup 100"] })).toContain(
    "another program uses some: 50 fwmark 0x1 lookup 100",
  );
});

test("DHCP on an address that another server has leased is refused before anything is done", () => {
  const addresses = ONE_CABLE.facts.addresses.map((each) => ({ ...each, isLeased: true }));
  const machine = { ...ONE_CABLE, facts: { ...ONE_CABLE.facts, addresses } };
  expect(refusal(() => assertFit(machine, settingsFrom({ dhcp: "on" }), {}))).toContain(
    "unable: --dhcp: eth0 has 192.168.7.2 from another DHCP server",
  );
  expect(refusal(() => assertFit(machine, DEFAULTS, {}))).toBe("");
});

test("another name for the tunnels is refused while some are up, because nobody would end those", () => {
  const refused = (
    links: string[],
    wanted: string,
    environment: string | null = "PORTCULLIS_INTERFACE=vpn\n",
  ) =>
    refusal(() => {
      const interfaces = [...ONE_CABLE.interfaces, ...links];
      assertFit({ ...ONE_CABLE, interfaces, environment }, settingsFrom({ interface: wanted }), {});
    });
  expect(refused(["vpn0", "vpn3"], "other")).toBe(
    "unable: --interface: tunnels are up under their former name (vpn0, vpn3); disconnect first: portcullis disconnect, or portcullis tunnel <name> disconnect",
  );
  expect(refused(["vpn0", "vpn3"], "vpn")).toBe("");
  expect(refused(["portcullis0"], "other")).toBe("");
  expect(refused(["portcullis0"], "other", "")).toContain("(portcullis0)");
  expect(refused(["portcullis0"], "other", null)).toBe("");
});

test("another firewall only causes a warning", () => {
  expect(warningsFor(ONE_CABLE, DEFAULTS)).toEqual([]);
  const warned = warningsFor({ ...ONE_CABLE, droppingChains: ["ip filter FORWARD"] }, DEFAULTS);
  expect(warned).toEqual([
    expect.stringContaining("(ip filter FORWARD): LAN clients may have no connection"),
  ]);
});

test("an unknown interface is a usage error, and the message names those that exist", () => {
  const refused = (given: { lan?: string; uplink?: string }) =>
    refusal(() => assertFit(ONE_CABLE, settingsFrom(given), given));
  expect(refused({ uplink: "eht0" })).toBe(
    "bad_request: --uplink: there is no interface eht0; there are: eth0, wlan0",
  );
  expect(refused({ lan: "eth0,eth1" })).toContain("bad_request: --lan: there is no interface eth1");
  expect(refused({ lan: "eth0,wlan0" })).toContain("wlan0 has no private address yet");
});

test("a LAN in the settings file whose card was removed causes a warning, and does not prevent an upgrade", () => {
  const settings = settingsFrom({ lan: "eth0,eth1" });
  expect(refusal(() => assertFit(ONE_CABLE, settings, {}))).toBe("");
  expect(warningsFor(ONE_CABLE, settings)).toEqual([
    "there is no interface eth1, which /etc/portcullis/portcullis.env names as LAN.",
  ]);
});

test("an SSH session from outside the LAN is refused, because it would be cut off", () => {
  const refused = (sshClient: string | null) => refusal(() => assertNotCutOff({ ...ONE_CABLE, sshClient }));
  expect(refused("203.0.113.5")).toContain("would cut off your SSH session");
  expect(refused("192.168.7.20")).toBe("");
  expect(refused(null)).toBe("");
});

test("settings without a flag are asked for, with what was found; Enter leaves them to the gateway", () => {
  const asked: string[] = [];
  const answers = ["", " 8080 ", "on"];
  const given = answered({ lan: "eth0" }, ONE_CABLE.network, (question) => {
    asked.push(question);
    return answers[asked.length - 1] ?? null;
  });
  expect(given).toEqual({ lan: "eth0", port: "8080", dhcp: "on" });
  expect(asked).toEqual([
    "interface towards the internet (Enter for eth0):",
    "port of the HTTP interface (Enter for 5000):",
    "serve DHCP and IPv6 router advertisements on the LAN: on, off, or the addresses to lease, such as 192.168.1.100-192.168.1.199, a range for each LAN interface, comma-separated (Enter for off):",
  ]);
});

describe("a settings file that names the uplink as LAN", () => {
  const network = { ...ONE_CABLE.network, uplink: "eth0" };
  const beside = { ...network, lans: [{ interface: "eth1", prefixes: cidrs("192.168.8.0/24") }] };
  const asked: string[] = [];
  const repairedBy = (lan: string, given: { lan?: string }, byDefault: HostNetwork = beside, agrees = true) =>
    repaired(given, settingsFrom({ lan }), { network, byDefault }, (question) => {
      asked.push(question);
      return agrees;
    });

  test("is repaired if the user agrees, and the question says why", () => {
    expect(repairedBy("eth0,eth1", {})).toEqual({ lan: "eth1" });
    expect(repairedBy("eth0", {})).toEqual({ lan: "eth1" });
    expect(repairedBy("eth0,eth1", {}, beside, false)).toEqual({});
    expect(asked).toEqual(
      Array(3).fill(
        "/etc/portcullis/portcullis.env names the uplink eth0 as LAN, so anyone on that cable may use the gateway; an earlier version may have written this without asking. Use only eth1 as LAN?",
      ),
    );
  });

  test("causes no question if it is right: one cable, another LAN, or a flag", () => {
    asked.length = 0;
    repairedBy("eth0", {}, ONE_CABLE.network);
    repairedBy("eth1", {});
    repairedBy("eth0,eth1", { lan: "eth0,eth1" });
    expect(asked).toEqual([]);
  });

  test("causes a warning if nobody can be asked", () => {
    const remarks = ["the uplink eth0 is LAN because the settings name it"];
    expect(warningsFor({ ...ONE_CABLE, network: { ...network, remarks } }, DEFAULTS)).toEqual([
      "the uplink eth0 is LAN because the settings name it.",
    ]);
  });
});

test("install and setup each say when the other is meant", () => {
  const said = (command: Layout["command"], own: Layout, isPackaged: boolean) =>
    refusal(() => assertCommand(command, own, isPackaged));
  expect(said("install", BY_HAND, false)).toBe("");
  expect(said("setup", PACKAGED, true)).toBe("");
  expect(said("install", PACKAGED, true)).toBe(
    "unable: the Debian package has installed this program already; type: sudo portcullis setup",
  );
  expect(said("setup", BY_HAND, false)).toBe(
    "unable: this program does not come from the Debian package; type: sudo portcullis install",
  );
  for (const command of ["install", "setup"] as const)
    expect(said(command, BY_HAND, true)).toBe(
      "unable: the Debian package of Portcullis is installed; to use it: sudo /usr/bin/portcullis setup; to install this program instead, first remove the package: sudo apt remove portcullis",
    );
});

test("hints name the command of this program, with its flags", () => {
  expect(setupCommand("--auth on", BY_HAND)).toBe("sudo portcullis install --auth on");
  expect(setupCommand("--auth on", PACKAGED)).toBe("sudo portcullis setup --auth on");
  expect(setupCommand()).toBe("sudo portcullis install");
});
