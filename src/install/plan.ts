import { join } from "node:path";
import { BOOT_FILE_MODE, BOOT_FILES, BOOT_FOLDER, bootFilesFor } from "../killswitch/boot-files.ts";
import { environmentWith, type Given, givenIn } from "./environment.ts";
import type { Machine } from "./machine.ts";
import { KILL_SWITCH_UNIT, PATHS, SERVICE_UNIT } from "./paths.ts";
import type { Plan, Step } from "./step.ts";
import { sysctlsBefore, sysctlsText } from "./sysctls.ts";
import { killSwitchUnit, NFTABLES_DROP_IN, serviceUnit } from "./units.ts";

interface Installation {
  machine: Machine;
  given: Given;
  /** This program's file. */
  program: string;
  /** The command that installs the programs that are missing; empty where none is. */
  packages: readonly string[];
}

/** Public to every program of the machine, or root's alone. */
const PUBLIC = 0o644;
const SECRET = 0o600;

export function installPlan({ machine, given, program, packages }: Installation): Plan {
  const write = (path: string, text: string, mode = PUBLIC): Step => ({ do: "write", path, mode, text });
  const { kept, copies } = keptFiles({ ...foundOn(machine, given), ...given });
  return [
    ...(packages.length === 0 ? [] : [{ do: "run", argv: packages } as const]),
    { do: "copy", from: program, path: PATHS.program, mode: 0o755 },
    ...copies,
    write(PATHS.environment, environmentWith(machine.environment, kept), SECRET),
    // Before the first start of the service, for that changes them.
    write(PATHS.sysctlsBefore, sysctlsBefore(machine)),
    write(PATHS.sysctls, sysctlsText(machine)),
    write(PATHS.modules, modulesText(machine)),
    write(PATHS.networkd, NETWORKD_TEXT),
    write(PATHS.nftables, NFTABLES_DROP_IN),
    ...bootFilesFor(machine.network).map(({ name, text }) =>
      write(join(PATHS.state, BOOT_FOLDER, name), text, BOOT_FILE_MODE),
    ),
    write(PATHS.killSwitchUnit, killSwitchUnit()),
    write(PATHS.serviceUnit, serviceUnit()),
    // For now; without it the kernel loads them when they are first asked for.
    { do: "run", argv: ["systemctl", "restart", "systemd-modules-load.service"], mayFail: true },
    ...[
      // A kernel that refuses the rules is found before anything is enabled.
      ["nft", "-c", "-f", join(PATHS.state, BOOT_FOLDER, BOOT_FILES.firewall)],
      ["systemctl", "daemon-reload"],
      ["systemctl", "enable", KILL_SWITCH_UNIT, SERVICE_UNIT],
      // Nothing where it has run: it would replace the rules that let the tunnel's packets pass.
      ["systemctl", "start", KILL_SWITCH_UNIT],
      ["systemctl", "restart", SERVICE_UNIT],
    ].map((argv): Step => ({ do: "run", argv })),
  ];
}

/**
 * LAN and uplink as they are now, where nothing else says which. At boot the service starts before the network: it
 * would know of no uplink, and without its routing rule the kernel refuses the default route that DHCP brings.
 */
function foundOn({ network, environment }: Machine, given: Given): Given {
  const known = { ...givenIn(environment ?? ""), ...given };
  return {
    ...(known.lan === undefined ? { lan: network.lans.map((lan) => lan.interface).join(",") } : {}),
    ...(known.uplink === undefined && network.uplink !== null ? { uplink: network.uplink } : {}),
  };
}

/** The service sees no home folder: what the settings name is copied to where it looks. */
function keptFiles(given: Given): { kept: Given; copies: Step[] } {
  const kept = { ...given };
  const copies: Step[] = [];
  for (const [key, path] of [
    ["managedList", PATHS.managedList],
    ["managedKeyFile", PATHS.managedKey],
  ] as const) {
    const from = given[key];
    // An address is where it is.
    if (!from?.startsWith("/")) continue;
    kept[key] = path;
    if (from !== path) copies.push({ do: "copy", from, path, mode: SECRET });
  }
  return { kept, copies };
}

/** What the firewall's table needs of the kernel, in any state of the tunnel. */
export const FIREWALL_MODULES: readonly string[] = [
  ...["nf_tables", "nft_ct", "nft_fib_inet", "nft_reject_inet"],
  ...["nft_chain_nat", "nft_nat", "nft_masq", "nft_socket"],
];

/** The kernel would load them when they are first asked for, and the first `nft` would wait for that. */
function modulesText({ wireguard }: Machine): string {
  const modules = [...FIREWALL_MODULES, wireguard === "kernel" ? "wireguard" : "tun"];
  return `# Before anything asks for them (modules-load.d(5)).\n${modules.join("\n")}\n`;
}

const NETWORKD_TEXT = `# systemd-networkd would remove the routing rules and routes of others when it starts (networkd.conf(5)).
[Network]
ManageForeignRoutingPolicyRules=no
ManageForeignRoutes=no
`;
