import { CommandError } from "../base/errors.ts";
import { type LanFacts, lanFactsOf } from "../dhcp/lans.ts";
import { isOneCable, type PortRoles, portsIn } from "../network/ports.ts";
import { placeText, remove } from "../system/files.ts";
import type { Host } from "../system/host.ts";
import { showAddresses } from "../system/ip.ts";
import { LinuxHost } from "../system/linux.ts";
import { assertAdministrator } from "../system/machine.ts";
import { SETUP_NOTES } from "../system/setup.ts";
import { install } from "./install.ts";
import { freeNetworks, lanFile, lanStep, UPLINK_FILE, uplinkStep } from "./port-files.ts";
import type { Step } from "./step.ts";

/** A router may be slow, or has to notice first that the cable is another one's. */
const ADDRESS_WITHIN_MS = 60_000;
const LOOK_EVERY_MS = 500;

/**
 * Gives the network ports of a flashed gateway their roles: the network's own files, then settings as `setup` changes them.
 * Devices of a LAN with a port of its own get their addresses from the gateway. If it is cut off, the missing note of the
 * setup says so, and it may be done again.
 */
export async function assignPorts(roles: PortRoles): Promise<void> {
  assertAdministrator();
  const host = new LinuxHost();
  const { uplink } = roles;
  const lans = isOneCable(roles) ? [] : roles.lans;
  const ports = portsIn({ addresses: await showAddresses(host) }).map(({ name }) => name);
  await assertPorts(host, roles, ports);
  remove(SETUP_NOTES.version);
  for (const name of ports) if (!lans.includes(name)) remove(lanFile(name));
  await apply(host, [uplinkStep(uplink)]);
  const leased = await once(host, `an address for ${uplink}`, (all) =>
    all.some((each) => each.interface === uplink && each.isLeased),
  );
  const taken = leased.filter((each) => !lans.includes(each.interface)).map(({ prefix }) => prefix);
  const owns = freeNetworks(lans.length, taken);
  if (owns.length < lans.length) throw unable(`${taken.join(", ")} leaves no network for the LAN`);
  await apply(
    host,
    owns.map((own, at) => lanStep(lans[at] ?? "", own)),
  );
  await once(host, `the address of ${lans.join(", ")}`, (all) =>
    owns.every((own, at) => all.some((each) => each.interface === lans[at] && each.prefix === own)),
  );
  const dhcp = lans.length === 0 ? "off" : "on";
  await install("setup", { uplink, lan: roles.lans.join(","), dhcp }, { dryRun: false, yes: true });
}

async function assertPorts(host: Host, { uplink, lans }: PortRoles, ports: readonly string[]): Promise<void> {
  if ((await host.read(UPLINK_FILE)) === null)
    throw unable("only a flashed gateway has such ports; type: sudo portcullis setup --lan … --uplink …");
  const unknown = [uplink, ...lans].find((name) => !ports.includes(name));
  if (unknown !== undefined)
    throw unable(`there is no network port ${unknown}; there are: ${ports.join(", ")}`);
  const twice = lans.find((name, at) => lans.indexOf(name) !== at);
  if (twice !== undefined) throw unable(`${twice} is named twice`);
  if (lans.includes(uplink) && lans.length > 1)
    throw unable(`${uplink} is the uplink: name other ports for the LAN, or this one alone for one cable`);
}

async function apply(host: Host, steps: readonly Step[]): Promise<void> {
  for (const step of steps) if (step.do === "write") placeText(step.path, step.text, step.mode);
  await host.run(["networkctl", "reload"]);
}

type Addresses = LanFacts["addresses"];

/** The machine's IPv4 addresses, as soon as they are as wanted. */
async function once(
  host: Host,
  what: string,
  isThere: (addresses: Addresses) => boolean,
): Promise<Addresses> {
  for (const start = host.monotonic(); ; await host.sleep(LOOK_EVERY_MS)) {
    const { addresses } = await lanFactsOf(host);
    if (isThere(addresses)) return addresses;
    if (host.monotonic() - start >= ADDRESS_WITHIN_MS) throw unable(`${what} did not come`);
  }
}

function unable(message: string): CommandError {
  return new CommandError("unable", message);
}
