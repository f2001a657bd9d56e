import { dirname, join } from "node:path";
import { BOOT_FOLDER } from "../killswitch/boot-files.ts";
import { ruleChanges } from "../killswitch/routing-rules.ts";
import { TABLE } from "../killswitch/ruleset.ts";
import type { Machine, Remains } from "./machine.ts";
import { PATHS, UNITS } from "./paths.ts";
import type { Plan, Step } from "./step.ts";
import { parseSysctls } from "./sysctls.ts";

export interface Removal {
  machine: Pick<Machine, "sysctlsBefore">;
  remains: Remains;
  /** Who else needs forwarding, in words. */
  forwarders: readonly string[];
  keepState: boolean;
}

/** The settings without which nothing is forwarded. */
const FORWARDING = ["ipv4/ip_forward", "ipv6/conf/all/forwarding"];

/** Brings the machine back to what it was. The tunnel goes first, and the kill switch last of what is in the kernel. */
export function uninstallPlan({ remains, ...rest }: Removal): Plan {
  return [...stopPlan(remains.units), ...networkPlan(remains), ...filesPlan(rest)];
}

/** What stays though it was not so before, and why; empty where nothing does. */
export function staysText({ machine, forwarders }: Pick<Removal, "machine" | "forwarders">): string {
  const kept = sysctlsIn(machine).filter((one) => isKept(one, forwarders));
  if (kept.length === 0) return "";
  const names = kept.map(({ path }) => `net.${path.replaceAll("/", ".")}`);
  return `Forwarding stays on, for others on this machine may need it (${forwarders.join(", ")}). Off with it: sudo sysctl -w ${names.map((name) => `${name}=0`).join(" ")}`;
}

/** Reversed, for forwarding comes last when they are set: it changes some of the others. */
function sysctlsIn({ sysctlsBefore }: Removal["machine"]) {
  return parseSysctls(sysctlsBefore ?? "").toReversed();
}

function isKept({ path, value }: { path: string; value: string }, forwarders: readonly string[]): boolean {
  return value === "0" && FORWARDING.includes(path) && forwarders.length > 0;
}

/** Before all else: a service that runs changes what there is to be removed. */
export function stopPlan(units: Remains["units"]): Plan {
  return units.length === 0 ? [] : [run(["systemctl", "disable", "--now", ...units])];
}

/** What is gone meanwhile is no failure. */
export function networkPlan({ network, rules, table }: Remains): Plan {
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
    ...unrule,
    ...(table ? [tried(["nft", "delete", "table", ...TABLE.split(" ")])] : []),
  ];
}

/** The program goes last: until then it can be told to go on. */
export function filesPlan({ machine, forwarders, keepState }: Omit<Removal, "remains">): Plan {
  const before = sysctlsIn(machine).filter((one) => !isKept(one, forwarders));
  return [
    ...before.map(({ path, value }): Step => ({ do: "sysctl", path, value })),
    ...[
      PATHS.killSwitchUnit,
      PATHS.serviceUnit,
      PATHS.networkd,
      PATHS.nftables,
      PATHS.modules,
      PATHS.sysctls,
      PATHS.sysctlsBefore,
      join(PATHS.state, BOOT_FOLDER),
      ...(keepState ? [] : [PATHS.environment, PATHS.managedList, PATHS.managedKey, PATHS.state]),
    ].map((path): Step => ({ do: "remove", path })),
    // Folders that the installation may have made.
    ...[PATHS.environment, PATHS.networkd, PATHS.nftables].map(
      (path): Step => ({ do: "remove empty", path: dirname(path) }),
    ),
    run(["systemctl", "daemon-reload"]),
    // A unit that has failed is remembered without its file; a pattern is content with none.
    run(["systemctl", "reset-failed", UNITS]),
    { do: "remove", path: PATHS.program },
  ];
}

function run(argv: readonly string[]): Step {
  return { do: "run", argv };
}

function tried(argv: readonly string[], stdin?: string): Step {
  return { do: "run", argv, mayFail: true, ...(stdin === undefined ? {} : { stdin }) };
}
