import { afterAll, beforeAll, expect } from "bun:test";
import { boundsFor } from "../../src/network/bounds-table.ts";
import { LinuxHost } from "../../src/system/linux.ts";
import { needsNamespaces } from "../fast.ts";
import { NamespaceHost } from "../namespace-host.ts";
import { until } from "../rig/tools/until.ts";

const [GATEWAY, HOME] = [`og${process.pid}`, `oh${process.pid}`] as const;
const ADDRESS = "192.168.7.1";
const PORT = 5000;
/** More than a device may have of connections to the gateway's own interface, and than it may begin at once. */
const MANY = 300;

const machine = new LinuxHost();
const gateway = new NamespaceHost(GATEWAY);
const home = new NamespaceHost(HOME);

beforeAll(async () => {
  for (const name of [GATEWAY, HOME]) await machine.run(["ip", "netns", "add", name]);
  const cable = `link add lan0 netns ${GATEWAY} type veth peer name lan0 netns ${HOME}`;
  await machine.run(["ip", ...cable.split(" ")]);
  for (const [name, address] of [
    [GATEWAY, ADDRESS],
    [HOME, "192.168.7.9"],
  ] as const)
    await machine.run(["ip", "-n", name, "-batch", "-"], {
      stdin: `link set lan0 up\naddress add ${address}/24 dev lan0\n`,
    });
  const rules = boundsFor({ most: 8_192, places: 65_536, ports: [PORT], remote: null });
  await gateway.run(["nft", "-f", "-"], { stdin: rules });
});
afterAll(async () => {
  for (const name of [GATEWAY, HOME]) await machine.run(["ip", "netns", "del", name]).catch(() => {});
});

/** Sends one packet from each of so many ports; nobody listens. */
async function send(protocol: "tcp" | "udp", port: number, count: number): Promise<void> {
  const each = `echo >/dev/${protocol}/${ADDRESS}/${port}`;
  await home.run(["bash", "-c", `for at in $(seq ${count}); do ${each}; done 2>/dev/null; true`]);
}

const refused = async () =>
  /elements/.test(await gateway.run(["nft", "list", "set", "inet", "portcullis_bounds", "refused"]));

needsNamespaces.test(
  "the bound of the gateway's own ports counts no questions to its resolver, and refuses connections beyond it",
  async () => {
    await send("udp", 53, MANY);
    expect(await refused()).toBe(false);
    // Positive control. How many begin in a second depends on the machine.
    await until(async () => {
      await send("tcp", PORT, MANY);
      return refused();
    });
  },
  180_000,
);
