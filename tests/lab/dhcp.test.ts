import { afterAll, beforeAll, expect, setDefaultTimeout } from "bun:test";
import {
  chmodSync,
  chownSync,
  closeSync,
  existsSync,
  mkdirSync,
  openSync,
  readFileSync,
  writeFileSync,
} from "node:fs";
import { dirname, join } from "node:path";
import { settingsFrom } from "../../src/base/settings.ts";
import { dnsmasqConfig } from "../../src/dhcp/config.ts";
import { HOSTS_FILE } from "../../src/dhcp/files.ts";
import { lanFactsOf, servedLans } from "../../src/dhcp/lans.ts";
import { prepareDhcp } from "../../src/dhcp/ready.ts";
import { withdrawPrefixes } from "../../src/dhcp/withdraw-prefixes.ts";
import { hostNetworkOf } from "../../src/network/host-network.ts";
import { ulaOn } from "../../src/network/ula.ts";
import { INTERNET, LAN, type NetworkCards, VPN } from "../../src/sandbox/topology.ts";
import { long } from "../fast.ts";
import { NamespaceHost } from "../namespace-host.ts";
import { story } from "../rig/tools/claims.ts";
import { createLab, type Gateway, type Lab } from "../rig/tools/lab.ts";
import { until } from "../rig/tools/until.ts";

const { describe } = long("the same gateway with other DHCP programs");

const ULA = "fd12:3456:789a::/48";
const OWN6 = ulaOn(ULA, "lan0").replace("/64", "");
const PHONE = { mac: "02:00:00:00:30:01", name: "phone" };
/** What the internet provider has delegated to the home. */
const HOME6 = "2001:db8:77";
/** As the unit gives them to dnsmasq, with a user of no rights. */
const RIGHTS = "+net_admin,+net_bind_service,+net_raw";
const NOBODY = 65_534;
const UNPRIVILEGED = [
  ...["setpriv", `--reuid=${NOBODY}`, `--regid=${NOBODY}`, "--clear-groups", "--no-new-privs"],
  ...[`--inh-caps=-all,${RIGHTS}`, `--ambient-caps=${RIGHTS}`, `--bounding-set=-all,${RIGHTS}`],
];
const TIMEOUT_MS = 180_000;
setDefaultTimeout(TIMEOUT_MS);

/** A client that is asked again meanwhile starts again. */
const RENEWAL_MS = 5_000;

/** What udhcpc calls with each lease; the lease is kept in a file. */
const SCRIPT = `#!/bin/sh
case $1 in
  deconfig) ip -4 address flush dev $interface ;;
  bound|renew)
    ip address replace $ip/$mask dev $interface
    ip route replace default via $router dev $interface
    echo "$ip/$mask router $router dns $dns domain $domain lease $lease" >$LEASE ;;
esac
`;

describe.each([1, 2] as const)("a home with %i cable(s) at the gateway", (cards: NetworkCards) => {
  let lab: Lab;
  let gateway: Gateway;
  let device: string;
  let server: Bun.Subprocess;
  let client: Bun.Subprocess;
  const children: Bun.Subprocess[] = [];

  const cache = () => file("cache");
  const file = (name: string) => join(lab.sandbox.directory, name);
  const textOf = (name: string) =>
    Bun.file(file(name)).size > 0 ? readFileSync(file(name), "utf8").trim() : "";
  const inGateway = (...argv: string[]) => lab.exec(lab.namespaces.gateway, argv);
  const inDevice = (...argv: string[]) => lab.exec(device, argv);
  const settings = () => {
    const { interface: base, lan, uplink } = lab.sandbox;
    return settingsFrom({ interface: base, lan, uplink, dhcp: "on", ula: ULA });
  };
  function start(log: string, namespace: string, ...argv: string[]): Bun.Subprocess {
    const output = openSync(file(log), "a", 0o600);
    const options = { env: { ...process.env, LEASE: file("lease") }, stdin: "ignore" as const };
    const child = Bun.spawn(["ip", "netns", "exec", namespace, ...argv], {
      ...options,
      stdout: output,
      stderr: output,
    });
    closeSync(output);
    children.push(child);
    return child;
  }

  const filesIn = (folder: string) => ({
    config: file("dhcp.conf"),
    leases: join(folder, "dnsmasq.leases"),
    hosts: join(cache(), HOSTS_FILE),
  });
  const readiness = (files: ReturnType<typeof filesIn>) => ({
    host: new NamespaceHost(lab.namespaces.gateway),
    settings: settings(),
    files,
    log: { warn: (message: string) => void console.warn(message) },
  });

  /** As the unit starts it, with the configuration that an installation writes. */
  async function startServer(): Promise<Bun.Subprocess> {
    const host = new NamespaceHost(lab.namespaces.gateway);
    const network = await hostNetworkOf(host, settings());
    // One of the files in which the service looks for names; systemd's own is the machine's.
    const folder = dirname(lab.leases());
    chownSync(folder, NOBODY, NOBODY);
    const lans = servedLans(network, await lanFactsOf(host), settings());
    const { config } = filesIn(folder);
    if (!existsSync(config)) writeFileSync(config, dnsmasqConfig(lans, filesIn(folder)));
    await prepareDhcp(readiness(filesIn(folder)));
    for (const path of [file("."), file("dhcp.conf")]) chmodSync(path, 0o755);
    const words = [
      "--keep-in-foreground",
      `--conf-file=${file("dhcp.conf")}`,
      "--pid-file",
      "--log-facility=-",
    ];
    return start("server.log", lab.namespaces.gateway, ...UNPRIVILEGED, "dnsmasq", ...words);
  }

  async function connectDevice(): Promise<void> {
    device = `${lab.sandbox.id}-phone`;
    await lab.outside(["ip", "netns", "add", device]);
    const cable = `link add link lan0 name dev1 address ${PHONE.mac} netns ${device} type macvlan mode private`;
    await lab.exec(lab.namespaces.client, ["ip", ...cable.split(" ")]);
    // A namespace may have inherited a router's settings.
    await inDevice("sysctl", "-qw", "net.ipv6.conf.all.forwarding=0");
    for (const words of ["link set lo up", "link set dev1 name lan0", "link set lan0 up"])
      await inDevice("ip", ...words.split(" "));
    writeFileSync(file("script"), SCRIPT, { mode: 0o755 });
    mkdirSync(`/etc/netns/${device}`, { recursive: true });
    writeFileSync(`/etc/netns/${device}/resolv.conf`, `nameserver ${LAN.gateway4}\n`);
    const own = ["-x", `hostname:${PHONE.name}`, "-s", file("script")];
    client = start("client.log", device, "udhcpc", "-f", "-i", "lan0", "-t", "20", "-T", "1", ...own);
  }

  const page = (host: string) => lab.fetchFrom(device, `http://${host}/`);
  const addresses6 = async () =>
    (await inDevice("ip", "-6", "-o", "address", "show", "scope", "global")).stdout;

  beforeAll(async () => {
    lab = await createLab({ cards });
    mkdirSync(cache(), { mode: 0o755 });
    // As systemd names the folder that both can use.
    const environment = { CACHE_DIRECTORY: cache() };
    gateway = await lab.startGateway({ flags: ["--dhcp", "on", "--ula", ULA], environment });
    server = await startServer();
    await connectDevice();
  });
  afterAll(async () => {
    for (const child of children) child.kill("SIGKILL");
    await lab.exec(lab.namespaces.client, ["true"]);
    await lab.close();
  });

  story(
    "a device has its address, router, resolver and name of the gateway, whatever ends or changes",
    TIMEOUT_MS,
    (claim) => {
      claim("a device gets an address, and the gateway as router and resolver", async () => {
        await until(() => textOf("lease") !== "");
        expect(textOf("lease")).toMatch(
          new RegExp(
            `^192\\.168\\.77\\.(1\\d\\d|2[0-4]\\d)/24 router ${LAN.gateway4} dns ${LAN.gateway4} domain home.arpa lease 43200$`,
          ),
        );
        await until(async () => (await addresses6()).includes(ULA.replace("::/48", "")));
        const { stdout: routes } = await inDevice("ip", "-6", "route", "show", "default");
        expect(routes).toMatch(/^default via fe80::\S+ dev lan0 proto ra .* pref high\s*$/);
        expect((await inGateway("ip", "-6", "address", "show", "dev", "lan0")).stdout).toContain(
          `${OWN6}/64`,
        );
      });

      claim(
        "it reaches pages through the tunnel, by IPv4 and IPv6, by name, and nothing leaves outside it",
        async () => {
          const sniffer = await lab.sniff();
          await until(
            async () => (await gateway.api("POST", "/api/connect", { server: "box-vpn-1" })).status === 200,
          );
          await until(async () => (await page(INTERNET.host4))?.includes(VPN.vpn1.v4) === true);
          await until(async () => (await page(`[${INTERNET.host6}]`))?.includes(VPN.vpn1.v6) === true);
          await until(async () => (await page("internet.test")) !== null);
          const { stdout } = await inDevice("getent", "ahosts", "internet.test");
          expect(stdout).toContain(INTERNET.host4);
          expect((await sniffer.stop()).leaks).toEqual([]);
        },
      );

      claim("its name is the device's name", async () => {
        const named = async () => {
          const { body } = await gateway.api("GET", "/api/devices");
          return body.devices.find(({ id }: { id: string }) => id === PHONE.mac)?.name;
        };
        await until(async () => (await named()) === PHONE.name);
      });

      claim(
        "while the service is down the server goes on, and the gateway's IPv6 address comes back with the service",
        async () => {
          await gateway.kill("SIGKILL");
          await inGateway("ip", "-6", "address", "del", `${OWN6}/64`, "dev", "lan0");
          const before = textOf("server.log").split("DHCPACK").length;
          client.kill("SIGUSR1");
          await until(() => textOf("server.log").split("DHCPACK").length > before);
          await gateway.start();
          const own = async () => (await inGateway("ip", "-6", "address", "show", "dev", "lan0")).stdout;
          await until(async () => (await own()).includes(`${OWN6}/64`));
          await inGateway("ip", "-6", "address", "del", `${OWN6}/64`, "dev", "lan0");
          await until(async () => (await own()).includes(`${OWN6}/64`));
          await until(async () => (await page(INTERNET.host4))?.includes(VPN.vpn1.v4) === true);
          await until(async () => (await page(`[${INTERNET.host6}]`))?.includes(VPN.vpn1.v6) === true);
        },
      );

      claim("it gets the address that a person has chosen for it", async () => {
        const path = `/api/devices/${PHONE.mac}`;
        expect((await gateway.api("PUT", path, { address: "192.168.77.60" })).status).toBe(200);
        // As the unit's reload does.
        server.kill("SIGHUP");
        // What is renewed before the server has read it again stays as it was.
        const renewed = () => {
          client.kill("SIGUSR1");
          return textOf("lease").startsWith("192.168.77.60/24 ");
        };
        await until(renewed, undefined, RENEWAL_MS);
        await until(async () => (await page(INTERNET.host4))?.includes(VPN.vpn1.v4) === true);
      });

      claim("what it sends with a public address is refused at once, and never leaves", async () => {
        await inGateway("ip", "address", "add", `${HOME6}::2/64`, "dev", "lan0", "nodad");
        await inDevice("ip", "address", "add", `${HOME6}::9/64`, "dev", "lan0", "nodad");
        const sniffer = await lab.sniff();
        const url = `http://[${INTERNET.host6}]/`;
        const ask = (source: string) => inDevice("curl", "-gsf", "-m", "20", "--interface", source, url);
        const start = performance.now();
        for (let count = 0; count < 20; count += 1) expect((await ask(`${HOME6}::9`)).code).toBe(7);
        expect(performance.now() - start).toBeLessThan(15_000);
        const { stdout } = await inDevice("ping", "-c1", "-W3", "-I", `${HOME6}::9`, INTERNET.host6);
        expect(stdout).toContain("Administratively prohibited");
        expect((await sniffer.stop()).leaks).toEqual([]);
        await inDevice("ip", "address", "del", `${HOME6}::9/64`, "dev", "lan0");
        await inGateway("ip", "address", "del", `${HOME6}::2/64`, "dev", "lan0");
        await until(async () => (await page(`[${INTERNET.host6}]`))?.includes(VPN.vpn1.v6) === true);
      });

      claim(
        "when the server ends for good, the device is told: it has no IPv6 router, and no address that it uses",
        async () => {
          server.kill("SIGKILL");
          await gateway.kill("SIGKILL");
          const routes = async () => (await inDevice("ip", "-6", "route", "show", "proto", "ra")).stdout;
          expect(await routes()).toContain("default via ");
          const prefix = ulaOn(ULA, "lan0");
          await withdrawPrefixes(new NamespaceHost(lab.namespaces.gateway), [{ interface: "lan0", prefix }]);
          expect(await routes()).not.toMatch(/default|::\/1/);
          expect(await addresses6()).toMatch(/ deprecated .*preferred_lft 0sec/);
        },
      );

      claim("beside another server on the LAN it is not ready to start", async () => {
        const range = "--dhcp-range=192.168.77.70,192.168.77.79,255.255.255.0,1h";
        const words = [
          "--keep-in-foreground",
          "--user=root",
          "--port=0",
          "--log-facility=-",
          "--pid-file",
          "--conf-file=/dev/null",
        ];
        const other = start(
          "other.log",
          lab.namespaces.client,
          "dnsmasq",
          ...words,
          range,
          `--dhcp-leasefile=${file("other")}`,
        );
        await until(() => textOf("other.log").includes("DHCP, IP range"));
        await expect(prepareDhcp(readiness(filesIn(cache())))).rejects.toThrow(
          `another DHCP server answers: ${LAN.client4} on lan0; devices that ask it would not use the gateway. Switch DHCP off there, usually in the settings of the home router`,
        );
        other.kill("SIGKILL");
      });

      claim("on a LAN that has another network it gives out addresses of that", async () => {
        // The kill switch follows the LAN, too.
        await gateway.start();
        await inGateway("ip", "-4", "address", "flush", "dev", "lan0");
        await inGateway("ip", "address", "add", "192.168.99.1/24", "dev", "lan0");
        server = await startServer();
        // Released: it asks everyone on the LAN.
        client.kill("SIGUSR2");
        const renewed = () => {
          client.kill("SIGUSR1");
          return /^192\.168\.99\.\d+\/24 router 192\.168\.99\.1 /.test(textOf("lease"));
        };
        await until(renewed, undefined, RENEWAL_MS);
      });
    },
  );
});
