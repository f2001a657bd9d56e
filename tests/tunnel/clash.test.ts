import { describe, expect } from "bun:test";
import { join } from "node:path";
import { GatewayError } from "../../src/base/errors.ts";
import { Catalogue } from "../../src/servers/catalogue.ts";
import { ManagedList } from "../../src/servers/managed.ts";
import { Store } from "../../src/store/store.ts";
import { formatConfig } from "../../src/wireguard/config-text.ts";
import type { Config } from "../../src/wireguard/schema.ts";
import { cidrs } from "../fake/address.ts";
import { slow } from "../fast.ts";
import { BODY, CONFIG } from "../servers/example.ts";
import { inDirectory } from "./directory.ts";
import { Gateway, ONE, stoodAlways, TWO } from "./gateway.ts";

const { test } = slow;

const OURS =
  "is an address of this machine, which could then no longer be reached there; end the other tunnel that has it, or change the server's address";
const inLan = (prefix: string) =>
  `is in the LAN ${prefix}, which could then no longer reach the gateway; change the server's address, or the LAN's`;
const IN_LAN = `10.64.0.1 ${inLan("10.64.0.0/24")}`;
const SPOOFED = 'comment "CVE-2019-14899: only the tunnel may send to the tunnel\'s address"';

function claim(text: string, work: (gateway: Gateway) => Promise<void>): void {
  test(text, () => inDirectory(async (directory) => work(await Gateway.started(directory))));
}

/** The LAN gets another prefix, and the gateway hears of it. */
async function move({ host, controller, tunnels }: Gateway, ...addresses: string[]): Promise<void> {
  const lan = host.links.get("lan0");
  if (lan !== undefined) lan.addresses = addresses;
  await tunnels.machine.checkNetwork();
  // What the change has brought about is done.
  await controller.beside(async () => {});
}

describe("a server whose address is in use on the LAN", () => {
  claim("is not connected to, and nothing is touched", async (gateway) => {
    await move(gateway, "10.64.0.250/24");
    const before = gateway.host.commands.length;
    await expect(gateway.controller.connect(ONE)).rejects.toThrow(
      new GatewayError("unable", `one cannot be used here: ${IN_LAN}`),
    );
    await gateway.controller.beside(async () => {});
    const after = gateway.host.commands.slice(before);
    expect(after.filter((command) => !/^(ip -j|nft -s list)/.test(command))).toEqual([]);
    expect([...gateway.host.links.keys()]).toEqual(["lo", "lan0", "up0"]);
    expect(await gateway.status()).toMatchObject({ state: "failed", killswitch_active: true });
  });

  claim("leaves the former tunnel as it is", async (gateway) => {
    await gateway.controller.connect(TWO);
    await move(gateway, "192.168.7.1/24", "10.64.0.1/32");
    await expect(gateway.controller.connect(ONE)).rejects.toThrow("10.64.0.1 is an address of this machine");
    await gateway.controller.beside(async () => {});
    expect(await gateway.status()).toMatchObject({ connected: true, server: "two" });
  });

  claim("is an address of the uplink's, too", async (gateway) => {
    gateway.host.links.get("up0")?.addresses.push("10.64.0.1/8");
    await gateway.tunnels.machine.checkNetwork();
    await expect(gateway.controller.connect(ONE)).rejects.toThrow("10.64.0.1 is an address of this machine");
  });
});

describe("a LAN that comes to use the address of a live tunnel", () => {
  claim("is never refused, and the tunnel ends with an error that says why", async (gateway) => {
    const { controller, host, log } = gateway;
    await controller.connect(ONE);
    expect(host.table).toContain(`ip daddr 10.64.0.1 drop ${SPOOFED}`);
    const known = host.tables.length;
    await move(gateway, "10.64.0.1/24");
    for (const table of host.tables.slice(known)) expect(table).not.toContain("ip daddr 10.64.0.1 drop");
    expect(await gateway.status()).toMatchObject({
      state: "reconnecting",
      connected: false,
      killswitch_active: true,
      error: `the tunnel to one had to be dropped: 10.64.0.1 ${OURS}`,
    });
    expect([...host.links.keys()]).toEqual(["lo", "lan0", "up0"]);
    expect(log.join("\n")).toContain("the tunnel to one had to be dropped");
    expect(stoodAlways(host)).toBe(true);
  });

  claim("gets the tunnel back when it has moved on", async (gateway) => {
    await gateway.controller.connect(ONE);
    await move(gateway, "10.64.0.250/24");
    await gateway.look();
    expect(await gateway.status()).toMatchObject({
      state: "reconnecting",
      error: `one cannot be used here: ${IN_LAN}`,
    });
    await move(gateway, "192.168.7.1/24");
    await gateway.comeToRest();
    expect(await gateway.status()).toMatchObject({ connected: true, server: "one", error: null });
  });

  claim("ends a tunnel that its server has stopped answering, too", async (gateway) => {
    await gateway.controller.connect(ONE);
    gateway.controller.lost("one no longer answers");
    await move(gateway, "10.64.0.250/24");
    expect(gateway.host.links.has("wg0")).toBe(false);
  });

  claim("gets it although the kernel refuses the first change of the firewall", async (gateway) => {
    const { controller, host } = gateway;
    await controller.connect(ONE);
    let refusals = 1;
    host.fails = (count) =>
      host.commands[count - 1]?.startsWith("nft -e") && refusals-- > 0 ? "before" : null;
    host.links.get("lan0")?.addresses.push("10.64.0.250/24");
    await expect(gateway.tunnels.machine.checkNetwork()).rejects.toThrow("made to fail");
    await controller.beside(async () => {});
    await gateway.look();
    expect(host.table).not.toContain("10.64.0.1");
    expect(host.links.has("wg0")).toBe(false);
  });

  claim("during a dial ends the tunnel that the dial makes", async (gateway) => {
    const { controller, host } = gateway;
    let checked: Promise<void> | undefined;
    host.onEvent = (event) => {
      if (checked !== undefined || !event.includes("-batch")) return;
      host.links.get("lan0")?.addresses.push("10.64.0.250/24");
      checked = gateway.tunnels.machine.checkNetwork();
    };
    await controller.connect(ONE);
    await checked;
    await controller.beside(async () => {});
    expect(await gateway.status()).toMatchObject({ state: "reconnecting", killswitch_active: true });
    expect(host.links.has("wg0")).toBe(false);
  });

  claim("while the service was away keeps it from taking the tunnel over", async (gateway) => {
    await gateway.controller.connect(ONE);
    const lan = gateway.host.links.get("lan0");
    if (lan !== undefined) lan.addresses = ["10.64.0.250/24"];
    await gateway.restart();
    expect(gateway.log).toContain(`not adopting the tunnel that is up: one cannot be used here: ${IN_LAN}`);
    expect([...gateway.host.links.keys()]).toEqual(["lo", "lan0", "up0"]);
    expect(await gateway.status()).toMatchObject({ state: "reconnecting", killswitch_active: true });
    await gateway.look();
    expect((await gateway.status()).error).toBe(`one cannot be used here: ${IN_LAN}`);
  });
});

describe("a device of the LAN that advertises an IPv6 prefix over a tunnel's address", () => {
  const LAN = "192.168.7.1/24";
  /** As the kernel makes it of the prefix fd00:64::/64. */
  const ADVERTISED = "fd00:64::5054:ff:fe12:3456/64";
  const PREFIX = "fd00:64::/64";
  const TO_LAN = `priority 50 to ${PREFIX} iif lo suppress_prefixlength 0 lookup main`;
  const SPOOFED_6 = `ip6 daddr fd00:64::1 drop ${SPOOFED}`;

  /** The tunnel is up and carries both families, and neither layer has the prefix as LAN. */
  async function expectServed(gateway: Gateway): Promise<void> {
    const { host } = gateway;
    expect(await gateway.status()).toMatchObject({ connected: true, server: "one", error: null });
    expect(host.routes.has("::/0")).toBe(true);
    expect(host.table).toContain(SPOOFED_6);
    expect(host.table).toContain('iifname "lan0" ip saddr 192.168.7.0/24 accept');
    expect(host.table).not.toContain(PREFIX);
    expect(host.rules["-6"]).not.toContain(TO_LAN);
    expect(stoodAlways(host)).toBe(true);
  }

  claim("does not end the tunnel, and its prefix is not LAN from then on", async (gateway) => {
    const { controller, host } = gateway;
    await controller.connect(ONE);
    const known = host.tables.length;
    await move(gateway, LAN, ADVERTISED);
    for (const table of host.tables.slice(known)) expect(table).toContain(SPOOFED_6);
    await expectServed(gateway);
    await gateway.comeToRest();
    await expectServed(gateway);
    expect((await gateway.tunnels.protection.inspection()).stands).toBe(true);
  });

  claim("does not prevent a connect, a switch, a new dial or a restart", async (gateway) => {
    const { controller, host } = gateway;
    await move(gateway, LAN, ADVERTISED);
    expect(host.table).toContain(PREFIX);
    expect(host.rules["-6"]).toContain(TO_LAN);
    await controller.connect(TWO);
    await controller.connect(ONE);
    await expectServed(gateway);
    controller.lost("one no longer answers");
    await gateway.comeToRest();
    await expectServed(gateway);
    await gateway.restart();
    await expectServed(gateway);
  });

  claim("has its prefix as LAN again once no tunnel has an address in it", async (gateway) => {
    const { controller, host } = gateway;
    await controller.connect(ONE);
    await move(gateway, LAN, ADVERTISED);
    await controller.disconnect();
    expect(host.table).toContain(PREFIX);
    expect(host.rules["-6"]).toContain(TO_LAN);
  });

  claim("cannot do it with the tunnel's very address either", async (gateway) => {
    await gateway.controller.connect(ONE);
    await move(gateway, LAN, "fd00:64::1/128");
    await expectServed(gateway);
    await gateway.controller.connect(TWO);
    await gateway.controller.connect(ONE);
    await expectServed(gateway);
  });

  claim("does not hide a clash of the tunnel's IPv4 address", async (gateway) => {
    await move(gateway, "10.64.0.250/24", ADVERTISED);
    await expect(gateway.controller.connect(ONE)).rejects.toThrow(
      new GatewayError("unable", `one cannot be used here: ${IN_LAN}`),
    );
  });
});

test("a server with a link-local address is not connected to: the LAN's own are in the same prefix", () =>
  inDirectory(async (directory) => {
    const gateway = await Gateway.started(directory);
    const { config } = ONE;
    const addresses = cidrs("10.64.0.1/32", "fe80::64/128");
    const local = { ...ONE, config: { ...config, interface: { ...config.interface, addresses } } };
    await expect(gateway.controller.connect(local)).rejects.toThrow(`fe80::64 ${inLan("fe80::/10")}`);
  }));

test("such a server is neither added nor imported", () =>
  inDirectory(async (directory) => {
    const { tunnels, host } = await Gateway.started(directory);
    const store = Store.open(join(directory, "servers"), host.now());
    const catalogue = new Catalogue(store, new ManagedList({ missing: "there is none" }));
    const refuse = (config: Config) => tunnels.assertNoClash(config);
    const config = formatConfig({
      ...CONFIG,
      interface: { ...CONFIG.interface, addresses: ["192.168.7.5/32"] },
    });
    const refusal = new GatewayError("bad_request", `address: 192.168.7.5 ${inLan("192.168.7.0/24")}`);
    expect(() => catalogue.addCustom({ ...BODY, address: "10.64.0.2,192.168.7.5/16" }, refuse)).toThrow(
      refusal,
    );
    expect(() => catalogue.importConfig({ name: "mine", config }, refuse)).toThrow(refusal);
    expect(() => catalogue.addCustom({ ...BODY, address: "192.168.7.1" }, refuse)).toThrow(
      `address: 192.168.7.1 ${OURS}`,
    );
    expect(catalogue.all()).toEqual([]);
    catalogue.addCustom(BODY, refuse);
    expect(catalogue.importConfig({ name: "mine", config: formatConfig(CONFIG) }, refuse)).toEqual([]);
  }));
