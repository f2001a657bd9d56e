import { GatewayError } from "../errors.ts";
import { isComplete } from "../killswitch/boot-files.ts";
import { OWN_NUMBERS } from "../killswitch/routing-rules.ts";
import type { Settings } from "../settings.ts";
import type { Given } from "./environment.ts";
import { isOnLan, type Machine } from "./machine.ts";
import { PATHS } from "./paths.ts";

/** Debian's name for the processor that this program is made for. */
const OWN_ARCHITECTURE = process.arch === "x64" ? "amd64" : process.arch;

/** Throws what keeps this machine from being a gateway, and what to do about it; `given` is what flags say. */
export function assertFit(machine: Machine, settings: Settings, given: Given): void {
  const { architecture, systemd, network, forgetful, foreignRules } = machine;
  if (architecture !== null && architecture !== OWN_ARCHITECTURE) {
    throw unable(
      `this program is made for ${OWN_ARCHITECTURE}, and this system is ${architecture}; a 64-bit system is needed, and the program that ./scripts/build makes for it`,
    );
  }
  if (!systemd) throw unable("this machine does not run systemd; use: portcullis serve");
  if (forgetful.length > 0) {
    throw unable(
      `${forgetful.join(", ")}: this would be gone after a reboot: turn the overlay file system off first (raspi-config)`,
    );
  }
  if (foreignRules.length > 0) {
    throw unable(
      `ip rules ${OWN_NUMBERS} are the gateway's, and another program has some there: ${foreignRules.join("; ")}; give those other numbers first`,
    );
  }
  assertInterfaces(machine, settings, given);
  if (!isComplete(network)) {
    throw unable(
      "no network yet: at boot the kill switch must know the LAN and the uplink; connect the cable, or name them with --lan and --uplink",
    );
  }
}

/** What keeps no machine from being a gateway, and may make it a poor one. */
export function warningsFor({ droppingChains, interfaces, network }: Machine, { lan }: Settings): string[] {
  const missing = lan.filter((name) => !interfaces.includes(name));
  return [
    ...network.remarks.map((remark) => `${remark}.`),
    ...(droppingChains.length === 0
      ? []
      : [
          `another firewall drops by policy (${droppingChains.join(", ")}): the LAN may get nothing until it lets the LAN through.`,
        ]),
    ...missing.map((name) => `there is no interface ${name}, which ${PATHS.environment} has for a LAN.`),
  ];
}

export function assertNotCutOff({ network, sshClient }: Machine): void {
  if (sshClient === null || isOnLan(sshClient, network)) return;
  throw unable("this would cut your SSH session off, and keep you out; come from the LAN, or say --yes");
}

/** A mistyped name must not become a kill switch that knows no way out at all; a card that was taken out since is no mistake. */
function assertInterfaces({ interfaces, network }: Machine, { lan, uplink }: Settings, given: Given): void {
  const named = [
    ...lan.map((name) => ["lan", name] as const),
    ...(uplink === null ? [] : [["uplink", uplink] as const]),
  ];
  for (const [flag, name] of named) {
    if (!interfaces.includes(name)) {
      if (flag === "lan" && given.lan === undefined) continue;
      const known = interfaces.length === 0 ? "none" : interfaces.join(", ");
      throw new GatewayError("bad_request", `--${flag}: there is no interface ${name}; there are: ${known}`);
    }
    if (flag === "lan" && !network.lans.some((one) => one.interface === name)) {
      throw unable(`--lan: ${name} has no private address yet; the kill switch must know the LAN at boot`);
    }
  }
}

function unable(message: string): GatewayError {
  return new GatewayError("unable", message);
}
