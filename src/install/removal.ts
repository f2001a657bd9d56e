import { basename, dirname, join } from "node:path";
import { BOOT_FOLDER } from "../killswitch/boot-files.ts";
import { ruleChanges } from "../killswitch/kernel-rules.ts";
import type { FilesByHand, Machine, Remains } from "./machine.ts";
import { PATHS, UNITS_PATTERN } from "./paths.ts";
import { type Plan, removeStep, type Step } from "./step.ts";
import { parseSysctls } from "./sysctls.ts";

type SysctlStep = Extract<Step, { do: "sysctl" }>;

export interface Removal {
  machine: Pick<Machine, "sysctlsBefore">;
  remains: Remains;
  /** Other programs that need forwarding, as text. */
  forwarders: readonly string[];
  keepState: boolean;
  /** The package's program and units are removed by dpkg. */
  byHand: FilesByHand;
}

/** The link to the folder of a user that systemd makes (systemd.exec(5), DynamicUser), then the folder. */
const DHCP_STATE = [PATHS.dhcpState, join(dirname(PATHS.dhcpState), "private", basename(PATHS.dhcpState))];
/** The sysctls that turn forwarding on. */
const FORWARDING = ["ipv4/ip_forward", "ipv6/conf/all/forwarding"];

/** Restores the machine. In the kernel, the tunnel is removed first and the kill switch last. */
export function uninstallPlan(removal: Removal): Plan {
  return [...stopPlan(removal), ...networkPlan(removal.remains), ...filesPlan(removal)];
}

/** The settings that are not restored, and the reason; empty if everything is restored. */
export function staysText({ machine, forwarders }: Pick<Removal, "machine" | "forwarders">): string {
  const kept = sysctlsIn(machine).filter((one) => isKept(one, forwarders));
  if (kept.length === 0) return "";
  const names = kept.map(({ path }) => `net.${path.replaceAll("/", ".")}`);
  return `Forwarding stays on because other programs may need it (${forwarders.join(", ")}). To turn it off: sudo sysctl -w ${names.map((name) => `${name}=0`).join(" ")}`;
}

/** In reverse order, because forwarding was set last, and changes some of the others. */
function sysctlsIn({ sysctlsBefore }: Removal["machine"]) {
  return parseSysctls(sysctlsBefore ?? "").toReversed();
}

function restored(machine: Removal["machine"], forwarders: Removal["forwarders"]): SysctlStep[] {
  return sysctlsIn(machine)
    .filter((one) => !isKept(one, forwarders))
    .map((one) => ({ do: "sysctl", ...one }));
}

function isKept({ path, value }: { path: string; value: string }, forwarders: readonly string[]): boolean {
  return value === "0" && FORWARDING.includes(path) && forwarders.length > 0;
}

/**
 * This comes first, because a running service changes what is to be removed. Forwarding ends before the kill switch
 * does, and no boot turns it on without a kill switch, even if the other steps are never done.
 */
export function stopPlan({ machine, remains: { units }, forwarders }: Removal): Plan {
  return [
    removeStep(PATHS.sysctls),
    ...(units.length === 0 ? [] : [run(["systemctl", "disable", "--now", ...units])]),
    ...restored(machine, forwarders).filter(({ path }) => FORWARDING.includes(path)),
  ];
}

/** If something is already gone, that is no failure. */
export function networkPlan({ network, addresses, rules, queues, routes, tables }: Remains): Plan {
  const unrule = ([4, 6] as const).flatMap((family) => {
    const lines = ruleChanges(
      rules.filter((rule) => rule.family === family),
      [],
    );
    if (lines.length === 0) return [];
    return [tried(["ip", `-${family}`, "-force", "-batch", "-"], `${lines.join("\n")}\n`)];
  });
  return [
    ...network.map((link) => tried(["ip", "link", "del", "dev", link])),
    // That of a tunnel has gone with it.
    ...queues
      .filter((link) => !network.includes(link))
      .map((link) => tried(["tc", "qdisc", "delete", "dev", link, "root"])),
    ...(addresses.length === 0 ? [] : [{ do: "farewell", addresses } as const]),
    ...addresses.map(({ interface: link, prefix }) =>
      tried(["ip", "-6", "address", "del", prefix, "dev", link]),
    ),
    ...unrule,
    ...routes.map(({ family, table }) => tried(["ip", `-${family}`, "route", "flush", "table", `${table}`])),
    ...tables.map((table) => tried(["nft", "delete", "table", ...table.split(" ")])),
  ];
}

/** The program is removed last, so that it can be run again until then. */
export function filesPlan({ machine, forwarders, keepState, byHand }: Omit<Removal, "remains">): Plan {
  return [
    ...restored(machine, forwarders).filter(({ path }) => !FORWARDING.includes(path)),
    ...[
      ...byHand.units,
      PATHS.dhcpConfig,
      PATHS.udev,
      PATHS.networkd,
      PATHS.nftables,
      PATHS.modules,
      PATHS.version,
      PATHS.portsBefore,
      PATHS.portsFailed,
      PATHS.sysctlsBefore,
      join(PATHS.state, BOOT_FOLDER),
      PATHS.cache,
      PATHS.addresses,
      ...(keepState
        ? []
        : [
            PATHS.environment,
            PATHS.managedList,
            PATHS.managedKey,
            PATHS.notify,
            PATHS.mqttPassword,
            PATHS.mqttCa,
            PATHS.state,
            ...DHCP_STATE,
          ]),
    ].map(removeStep),
    // Folders that the installation may have created.
    ...[PATHS.environment, PATHS.networkd, PATHS.nftables].map(
      (path): Step => ({ do: "remove empty", path: dirname(path) }),
    ),
    run(["systemctl", "daemon-reload"]),
    // Systemd remembers a failed unit without its file; a pattern that matches nothing is not an error.
    run(["systemctl", "reset-failed", UNITS_PATTERN]),
    ...byHand.programs.map(removeStep),
  ];
}

function run(argv: readonly string[]): Step {
  return { do: "run", argv };
}

function tried(argv: readonly string[], stdin?: string): Step {
  return { do: "run", argv, mayFail: true, ...(stdin === undefined ? {} : { stdin }) };
}
