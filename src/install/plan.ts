import { join } from "node:path";
import { CommandError } from "../base/errors.ts";
import { FLAGS } from "../base/flags.ts";
import { settingsFrom } from "../base/settings.ts";
import { certificateIn } from "../certificates/given-files.ts";
import { BOOT_FILE_MODE, BOOT_FILES, BOOT_FOLDER, bootFilesFor } from "../killswitch/boot-files.ts";
import { ownLinks } from "../network/slot.ts";
import type { Host } from "../system/host.ts";
import { BY_HAND, type Layout } from "../system/layout.ts";
import { versionNote } from "../system/setup.ts";
import { dhcpPlan } from "./dhcp.ts";
import { environmentWith, type GivenSettings, givenIn, interfaceIn } from "./environment.ts";
import type { Machine } from "./machine.ts";
import { BOUND_MODULES, FIREWALL_MODULES } from "./modules.ts";
import { CLOCK_UNIT, KILL_SWITCH_UNIT, PATHS, SERVICE_UNIT } from "./paths.ts";
import { type Plan, removeStep, type Step } from "./step.ts";
import { sysctlsBefore, sysctlsText } from "./sysctls.ts";
import { NFTABLES_DROP_IN, unitsFor } from "./units.ts";

interface Installation {
  machine: Machine;
  given: GivenSettings;
  layout: Layout;
  /** The path of this program. */
  program: string;
  version: string;
  /** The command that installs missing programs; empty if none is missing. */
  packages: readonly string[];
}

/** Modes: readable by everyone, or only by root. */
const PUBLIC = 0o644;
const SECRET = 0o600;

export function installPlan({ machine, given, layout, program, version, packages }: Installation): Plan {
  const write = (path: string, text: string, mode = PUBLIC): Step => ({ do: "write", path, mode, text });
  const { kept, copies } = keptFiles({ ...foundOn(machine, given), ...given, ...withoutBroker(given) });
  const environment = environmentWith(machine.environment, kept);
  const dhcp = dhcpPlan(machine, settingsFrom(givenIn(environment)), layout);
  const isByHand = layout === BY_HAND;
  return [
    ...(packages.length === 0 ? [] : [{ do: "run", argv: packages } as const]),
    ...(isByHand ? [{ do: "copy", from: program, path: layout.program, mode: 0o755 } as const] : []),
    ...copies,
    write(PATHS.environment, environment, SECRET),
    ...(given.mqtt === "" ? [PATHS.mqttPassword, PATHS.mqttCa].map(removeStep) : []),
    // Done before the service's first start, which changes them.
    write(PATHS.sysctlsBefore, sysctlsBefore(machine)),
    write(PATHS.modules, modulesText(machine)),
    write(PATHS.udev, udevText(interfaceIn(environment))),
    write(PATHS.networkd, NETWORKD_TEXT),
    write(PATHS.nftables, NFTABLES_DROP_IN),
    ...bootFilesFor(machine.network).map(({ name, text }) =>
      write(join(PATHS.state, BOOT_FOLDER, name), text, BOOT_FILE_MODE),
    ),
    ...(isByHand ? unitSteps(layout) : []),
    ...dhcp.files,
    // So that they are loaded now; otherwise the kernel loads them on first use.
    { do: "run", argv: ["systemctl", "restart", "systemd-modules-load.service"], mayFail: true },
    // Checks whether the kernel refuses the rules before anything is enabled.
    { do: "run", argv: ["nft", "-c", "-f", join(PATHS.state, BOOT_FOLDER, BOOT_FILES.firewall)] },
    // A boot at any moment finds a unit of each name. Links that enable a unit count by its name (systemd,
    // load-dropin.c).
    ...(isByHand ? [] : machine.byHand.units.map(removeStep)),
    ...[
      ["systemctl", "daemon-reload"],
      ["systemctl", "enable", KILL_SWITCH_UNIT, CLOCK_UNIT, SERVICE_UNIT, ...dhcp.units],
    ].map((argv): Step => ({ do: "run", argv })),
    // No boot turns forwarding on without a kill switch, even if an earlier step fails.
    write(PATHS.sysctls, sysctlsText(machine, interfaceIn(environment))),
    ...[
      // Has no effect if it has already run. A second run would remove the rules that accept the tunnel's packets.
      ["systemctl", "start", KILL_SWITCH_UNIT],
      ["systemctl", "restart", SERVICE_UNIT],
    ].map((argv): Step => ({ do: "run", argv })),
    ...dhcp.start,
    ...(isByHand ? [] : machine.byHand.programs.map(removeStep)),
    // This comes last. Without it, checks and updates say that the setup was not completed.
    write(PATHS.version, versionNote(version)),
  ];
}

/** The DHCP server's unit comes with its other files. */
function unitSteps(layout: Layout): Step[] {
  const texts = unitsFor(layout.program);
  return [KILL_SWITCH_UNIT, CLOCK_UNIT, SERVICE_UNIT].map((name) => ({
    do: "write",
    path: join(layout.units, name),
    mode: PUBLIC,
    text: texts[name] ?? "",
  }));
}

/**
 * The present LAN and uplink, unless settings name them. At boot the service starts before the network and would not
 * know the uplink. Without the uplink's routing rule, the kernel refuses the default route from DHCP.
 */
function foundOn({ network, environment }: Machine, given: GivenSettings): GivenSettings {
  const known = { ...givenIn(environment ?? ""), ...given };
  return {
    ...(known.lan === undefined ? { lan: network.lans.map((lan) => lan.interface).join(",") } : {}),
    ...(known.uplink === undefined && network.uplink !== null ? { uplink: network.uplink } : {}),
  };
}

/** The next broker gets no password of the former one, and nobody may command by it unless that is asked for again. */
function withoutBroker({ mqtt }: GivenSettings): GivenSettings {
  return mqtt === "" ? { mqttPasswordFile: "", mqttCaFile: "", mqttCommands: "off" } : {};
}

const COPIES = [
  ["managedList", PATHS.managedList],
  ["managedKeyFile", PATHS.managedKey],
  ["notify", PATHS.notify],
  ["mqttPasswordFile", PATHS.mqttPassword],
  ["mqttCaFile", PATHS.mqttCa],
] as const;

/** An https address is not copied, nor is a list of files and addresses. */
function isCopied(key: keyof GivenSettings, from: string): boolean {
  return from.startsWith("/") && !(key === "notify" && from.includes(","));
}

/** They are renewed where they are, so they are not copied. */
const NOT_COPIED = ["httpsCert", "httpsKey"] as const;
/** The service cannot read there (systemd.exec(5), ProtectHome). */
const HOMES = /^\/(home|root|run\/user)\//;

/**
 * Throws if a file that a flag names cannot be read, because the steps before its copy would be done by then, or if the
 * service could not read it where it is.
 */
export async function assertFiles(host: Pick<Host, "read">, given: GivenSettings): Promise<void> {
  const { httpsCert: certificate, httpsKey: key } = given;
  for (const flag of NOT_COPIED) {
    const path = given[flag] ?? "";
    if (!HOMES.test(path)) continue;
    throw new CommandError(
      "bad_request",
      `--${FLAGS[flag].name}: the service cannot read ${path}, because it is in a home folder; put it elsewhere, such as below /etc`,
    );
  }
  if (certificate && key) await certificateIn({ certificate, key }, host);
  for (const [key] of COPIES) {
    const from = given[key];
    if (from === undefined || !isCopied(key, from) || (await host.read(from)) !== null) continue;
    throw new CommandError(
      "bad_request",
      `--${FLAGS[key].name}: there is no file ${from}, or it cannot be read`,
    );
  }
}

/** The service cannot read home folders, so files that the settings name are copied to a folder that it can read. */
function keptFiles(given: GivenSettings): { kept: GivenSettings; copies: Step[] } {
  const kept = { ...given };
  const copies: Step[] = [];
  for (const [key, path] of COPIES) {
    const from = given[key];
    if (from === undefined || !isCopied(key, from)) continue;
    kept[key] = path;
    if (from !== path) copies.push({ do: "copy", from, path, mode: SECRET });
  }
  return { kept, copies };
}

/** Otherwise the kernel loads them on first use, and the first `nft` waits for it. */
function modulesText({ wireguard }: Machine): string {
  const modules = [...FIREWALL_MODULES, ...BOUND_MODULES, wireguard === "kernel" ? "wireguard" : "tun"];
  return `# Loaded early, so that nft does not wait for them at boot (modules-load.d(5)).\n${modules.join("\n")}\n`;
}

/** Otherwise NetworkManager shows a tunnel as one of its connections, which can be ended there. */
function udevText(base: string): string {
  return `# Network managers leave the tunnels alone. NetworkManager reads the first property, newer systemd-networkd the second.
SUBSYSTEM=="net", KERNEL=="${ownLinks(base).join("|")}", ENV{NM_UNMANAGED}="1", ENV{ID_NET_MANAGED_BY}="portcullis"
`;
}

const NETWORKD_TEXT = `# By default, systemd-networkd removes other programs' routing rules and routes when it starts (networkd.conf(5)).
[Network]
ManageForeignRoutingPolicyRules=no
ManageForeignRoutes=no
`;
