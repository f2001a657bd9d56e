import { dirname, join } from "node:path";
import { TABLE } from "../firewall/ruleset.ts";
import { ruleChanges } from "../routing/rules.ts";
import { BOOT_FOLDER } from "./boot.ts";
import type { Machine, Remains } from "./machine.ts";
import { PATHS, UNITS } from "./paths.ts";
import type { Plan, Step } from "./step.ts";
import { parseSysctls } from "./sysctls.ts";

export interface Removal {
  machine: Pick<Machine, "sysctlsBefore">;
  remains: Remains;
  keepState: boolean;
}

/** Brings the machine back to what it was. The tunnel goes first, and the kill switch last of what is in the kernel. */
export function uninstallPlan({ machine, remains, keepState }: Removal): Plan {
  const run = (argv: readonly string[], stdin?: string): Step =>
    stdin === undefined ? { do: "run", argv } : { do: "run", argv, stdin };
  const unrule = ([4, 6] as const).flatMap((family) => {
    const lines = ruleChanges(
      remains.rules.filter((rule) => rule.family === family),
      [],
    );
    return lines.length === 0 ? [] : [run(["ip", `-${family}`, "-batch", "-"], `${lines.join("\n")}\n`)];
  });
  // Reversed, for forwarding comes last when they are set: it changes some of the others.
  const before = parseSysctls(machine.sysctlsBefore ?? "").toReversed();
  return [
    ...(remains.units.length === 0 ? [] : [run(["systemctl", "disable", "--now", ...remains.units])]),
    ...remains.links.map((link) => run(["ip", "link", "del", "dev", link])),
    ...unrule,
    ...(remains.table ? [run(["nft", "delete", "table", ...TABLE.split(" ")])] : []),
    ...before.map(({ path, value }): Step => ({ do: "sysctl", path, value })),
    ...[
      PATHS.killSwitchUnit,
      PATHS.serviceUnit,
      PATHS.networkd,
      PATHS.modules,
      PATHS.sysctls,
      PATHS.sysctlsBefore,
      join(PATHS.state, BOOT_FOLDER),
      ...(keepState ? [] : [PATHS.environment, PATHS.managedList, PATHS.managedKey, PATHS.state]),
      PATHS.program,
    ].map((path): Step => ({ do: "remove", path })),
    // Folders that the installation may have made.
    ...[dirname(PATHS.environment), dirname(PATHS.networkd)].map(
      (path): Step => ({ do: "remove empty", path }),
    ),
    run(["systemctl", "daemon-reload"]),
    // A unit that has failed is remembered without its file; a pattern is content with none.
    run(["systemctl", "reset-failed", UNITS]),
  ];
}
