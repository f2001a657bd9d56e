import { writeFile } from "node:fs/promises";
import { join } from "node:path";
import { CommandError } from "../base/errors.ts";
import { commandIn } from "../sandbox/namespace.ts";
import { Relay } from "../sandbox/relay.ts";
import { ACCESS_POINT_NAMESPACE } from "../system/layout.ts";
import { LinuxHost, SELF_COMMAND } from "../system/linux.ts";
import { assertAdministrator } from "../system/machine.ts";
import {
  ADDRESS,
  dnsmasqCommand,
  hostapdConfig,
  NETWORK,
  PORTS,
  RULESET,
  WITHOUT_RIGHTS,
} from "./settings.ts";

/** Of all stations together. */
const MOST_CONNECTIONS = 128;
const LOOPBACK = "127.0.0.1";

/** Where stations are served. */
interface Place {
  /** Has the network card and nothing else. */
  netns: string;
  link: string;
  /** Where the gateway's page is; null for this process's own network. */
  gateway: string | null;
  /** The words that start this program. */
  program: readonly string[];
}

/**
 * Opens the access point of a first start, and ends when it has failed. It is in a network namespace of its own, so the kill
 * switch has nothing to do with it. When this process ends, systemd removes the namespace, and the card is the machine's again.
 */
export async function openAccessPoint(radio: string): Promise<never> {
  assertAdministrator();
  const host = new LinuxHost();
  const folder = process.env.RUNTIME_DIRECTORY;
  if (folder === undefined) throw unable("only a flashed gateway opens an access point, by itself");
  const [phy, mac] = await Promise.all(
    ["phy80211/name", "address"].map((each) => host.read(`/sys/class/net/${radio}/${each}`)),
  );
  if (!phy || !mac) throw unable(`${radio} is no Wi-Fi card`);
  const netns = ACCESS_POINT_NAMESPACE;
  const config = join(folder, "hostapd.conf");
  await writeFile(config, hostapdConfig(radio, mac));
  await host.run(["ip", "netns", "add", netns]);
  await host.run(["iw", "phy", phy.trim(), "set", "netns", "name", netns]);
  const serving = await serveStations(host, {
    ...{ netns, link: radio, gateway: null },
    program: SELF_COMMAND,
  });
  const hostapd = start(host, netns, ["/usr/sbin/hostapd", config]);
  throw unable(await Promise.race([serving.failed, hostapd.failed]));
}

/**
 * Serves the devices on a link: addresses, names, the portal's page, and the gateway's own page by a relay of bytes, which is
 * their only way out of the namespace.
 */
export async function serveStations(
  host: Pick<LinuxHost, "run" | "spawn">,
  { netns, link, gateway, program }: Place,
): Promise<{ failed: Promise<string>; stop: () => void }> {
  await host.run(commandIn(netns, ["nft", "-f", "-"]), { stdin: RULESET });
  await host.run(["ip", "-n", netns, "address", "add", NETWORK, "dev", link]);
  const relay = Relay.between({
    from: { netns, hostname: ADDRESS, port: PORTS.https },
    to: { netns: gateway, hostname: LOOPBACK, port: PORTS.https },
    as: (station) => station.replace(/^.*\./, "127.73.0."),
    most: MOST_CONNECTIONS,
  });
  const children = [dnsmasqCommand(link), [...WITHOUT_RIGHTS, ...program, "portal", ADDRESS]].map((argv) =>
    start(host, netns, argv),
  );
  const stop = () => {
    relay.stop();
    for (const { child } of children) child.kill("SIGTERM");
  };
  return { failed: Promise.race(children.map(({ failed }) => failed)), stop };
}

function start(host: Pick<LinuxHost, "spawn">, netns: string, argv: readonly string[]) {
  const child = host.spawn(commandIn(netns, argv));
  return { child, failed: child.exited.then((code) => `${argv[0]} has ended with ${code}`) };
}

function unable(message: string): CommandError {
  return new CommandError("unable", message);
}
