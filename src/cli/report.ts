import { existsSync } from "node:fs";
import { machine, release } from "node:os";
import { version } from "../../package.json";
import { partsOf } from "../app/parts.ts";
import { privateNames } from "../app/private-names.ts";
import type { Settings } from "../base/settings.ts";
import type { Check, Checks } from "../checks/schema.ts";
import { askOperator } from "../operator/operator.ts";
import type { Host } from "../system/host.ts";
import { Anonymous } from "./anonymous.ts";
import { host, type Output } from "./api-command.ts";
import { codeOf, offlineChecks, textOf } from "./check.ts";
import { asRoot } from "./root.ts";
import { printable } from "./text.ts";

/** The last lines of the log at the levels of warnings and errors. */
const MAX_LINES = 40;
const LINES_READ = 2_000;

/** Folders that only the network manager of that name has. */
const NETWORK_MANAGERS = {
  NetworkManager: "/run/NetworkManager",
  "systemd-networkd": "/run/systemd/netif/leases",
  dhcpcd: "/run/dhcpcd",
  ifupdown: "/run/network",
};

/** A text for people who help: the machine, the checks and the log, without secrets, addresses and names. */
export async function report(settings: Settings): Promise<Output> {
  asRoot("check --report");
  const { checks, names } = await found(settings);
  const anonymous = new Anonymous(names);
  const shown: Check[] = checks.checks.map((check) => ({
    ...check,
    title: anonymous.text(check.title),
    found: anonymous.text(check.found),
    advice: check.advice && anonymous.text(check.advice),
  }));
  const about = (await machineLines(host)).map((line) => anonymous.text(line));
  const log = (await logLines(host)).map((line) => printable(anonymous.text(line)));
  const text = [
    `Portcullis ${version}, ${checks.checked_at}`,
    ...about,
    "",
    textOf(shown),
    `Warnings and errors in the log${log.length === 0 ? ": none" : ""}`,
    ...log,
    "",
  ].join("\n");
  return { json: { machine: about, checks: shown, log }, text, code: codeOf(checks.checks) };
}

async function found(settings: Settings): Promise<{ checks: Checks; names: string[] }> {
  const live = await askOperator(settings.stateDir, "report", null);
  if (live !== null) return live.answer;
  return { checks: await offlineChecks(settings), names: privateNames(await partsOf(settings)) };
}

async function machineLines(machineHost: Host): Promise<string[]> {
  const [system, model, device] = await Promise.all(
    ["/etc/os-release", "/proc/device-tree/model", "/sys/class/dmi/id/product_name"].map((path) =>
      machineHost.read(path),
    ),
  );
  const programs = await Promise.all(
    [
      ["nft", "--version"],
      ["wg", "--version"],
      ["ip", "-V"],
    ].map((argv) => machineHost.run(argv).catch(() => `${argv[0]}: not found`)),
  );
  const managers = Object.entries(NETWORK_MANAGERS).filter(([, folder]) => existsSync(folder));
  return [
    `System: ${/^PRETTY_NAME="?([^"\n]*)/m.exec(system ?? "")?.[1] ?? "unknown"}`,
    `Kernel: ${release()} ${machine()}`,
    `Model: ${(model ?? device ?? "unknown").replaceAll("\0", "").trim()}`,
    `Network: ${managers.map(([name]) => name).join(", ") || "unknown"}`,
    ...programs.map((text) => `Program: ${text.split(/\n| - /)[0]}`),
  ];
}

async function logLines(machineHost: Host): Promise<string[]> {
  const argv = ["journalctl", "--unit=portcullis*.service", "--no-pager", "--no-hostname"];
  const text = await machineHost
    .run([...argv, "--output=short-iso", `--lines=${LINES_READ}`])
    .catch(() => "");
  return text
    .split("\n")
    .filter((line) => /: (warn|error): /.test(line))
    .slice(-MAX_LINES);
}
