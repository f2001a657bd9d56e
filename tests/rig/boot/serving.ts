import { afterAll, beforeAll, expect, test } from "bun:test";
import { closeSync, openSync } from "node:fs";
import { join } from "node:path";
import { LAN, VPN } from "../../../src/sandbox/topology.ts";
import type { Lab } from "../tools/lab.ts";
import { Phone } from "./phone.ts";
import {
  arm,
  bootBare,
  bootToTunnel,
  clean,
  closeStage,
  connect,
  guest,
  healthy,
  lab,
  note,
  openStage,
  PATIENCE_MS,
  read,
  SNAPSHOT,
  seconds,
  underTraffic,
  way,
} from "./stage.ts";

const UNIT = "portcullis-dhcp";
const CHOSEN = "192.168.77.60";
/** A device that is told of no server asks for so long. */
const UNANSWERED_MS = 15_000;

let before: string;
let phone: Phone;

beforeAll(async () => {
  await openStage();
  phone = await Phone.plugIn(lab);
}, PATIENCE_MS);

afterAll(closeStage, PATIENCE_MS);

test(
  "a device behind a machine without Portcullis has no lease, and the machine leaks: the sniffer sees it",
  async () => {
    const sniffer = await lab.sniff();
    await bootBare();
    before = await guest.shell(SNAPSHOT);
    await phone.turnOn();
    await Bun.sleep(UNANSWERED_MS);
    expect(phone.lease).toBe("");
    expect((await sniffer.stop()).leaks.length).toBeGreaterThan(0);
  },
  PATIENCE_MS,
);

test(
  "after install --dhcp a device gets an address, with the gateway as router and resolver for IPv4 and IPv6",
  async () => {
    await guest.shell(way.bring);
    await arm();
    const sniffer = await lab.sniff();
    await healthy();
    expect(await served()).toMatch(leaseFrom("192.168.77.(1\\d\\d|2[0-4]\\d)"));
    expect(await prop("ActiveState")).toBe("active");
    expect(await prop("NRestarts")).toBe("0");
    const routes = async () => (await phone.exec("ip", "-6", "route", "show", "default")).stdout;
    await guest.until("an IPv6 router", async () => (await routes()) !== "");
    expect(await routes()).toMatch(/^default via fe80::\S+ dev lan0 proto ra .* pref high\s*$/);
    const addresses = async () =>
      (await phone.exec("ip", "-6", "-o", "address", "show", "scope", "global")).stdout;
    await guest.until("an IPv6 address", async () => (await addresses()).includes("inet6 fd"));
    expect(await clean(sniffer)).toEqual([]);
  },
  PATIENCE_MS,
);

test(
  "it reaches pages through the tunnel, by IPv4, IPv6 and name",
  async () => {
    const sniffer = await lab.sniff();
    await connect();
    await reached();
    await guest.until("a page by IPv6", async () => (await phone.page(6)) === VPN.vpn1.v6);
    await guest.until("a page by name", async () => (await phone.page("name")) !== null);
    expect(await guest.shell("portcullis devices")).toContain(Phone.hostName);
    expect(await clean(sniffer)).toEqual([]);
  },
  PATIENCE_MS,
);

test(
  "while the service is stopped and restarted the server goes on, and nothing leaks",
  async () => {
    const server = await prop("MainPID");
    const { leaks, web } = await underTraffic(async () => {
      await guest.shell("systemctl stop portcullis");
      await renewed();
      await guest.shell("systemctl restart portcullis");
      await healthy();
      await reached();
      await guest.shell("systemctl restart portcullis");
      await healthy();
      await renewed();
    }, phone.namespace);
    expect(leaks).toEqual([]);
    expect(Object.keys(web?.seenAs ?? {})).toEqual([VPN.vpn1.v4]);
    expect(await prop("MainPID")).toBe(server);
  },
  PATIENCE_MS,
);

test(
  "an upgrade does not interrupt the server",
  async () => {
    const server = await prop("MainPID");
    await guest.shell(way.upgrade);
    await healthy();
    expect(await prop("MainPID")).toBe(server);
    await renewed();
  },
  PATIENCE_MS,
);

test(
  "an address that a person chooses for a device takes effect by a reload of the running server",
  async () => {
    const server = await prop("MainPID");
    const sniffer = await lab.sniff();
    await guest.shell(`portcullis device ${Phone.hostName} address ${CHOSEN}`);
    await guest.until("the chosen address", async () => {
      phone.renew();
      // A server that has refused it makes the device start again.
      await Bun.sleep(3_000);
      return phone.lease.startsWith(`${CHOSEN}/24 `);
    });
    await reached();
    expect(await prop("MainPID")).toBe(server);
    expect(await clean(sniffer)).toEqual([]);
  },
  PATIENCE_MS,
);

test(
  "next to another DHCP server it does not start and says why, the service reports the other one, and it starts when that has gone",
  async () => {
    const journal = () => guest.shell(`journalctl -b -u ${UNIT} --no-pager -o cat`);
    const other = await OtherServer.start(lab);
    try {
      await guest.ssh(`systemctl restart ${UNIT}`);
      await guest.until("its reason", async () =>
        (await journal()).includes(`another DHCP server answers: ${LAN.client4} on `),
      );
      expect(await prop("ActiveState")).not.toBe("active");
      // It asks when it starts, and otherwise every five minutes.
      await guest.shell("systemctl restart portcullis");
      await healthy();
      await guest.until("a report", async () => (await othersOf()).includes(LAN.client4));
      const waits = `it waits: another DHCP server answers: ${LAN.client4} on `;
      await guest.until("what the check says", async () =>
        (await guest.ssh("portcullis check")).stdout.includes(waits),
      );
    } finally {
      await other.stop();
    }
    const gone = performance.now();
    await guest.until("its start", async () => (await prop("ActiveState")) === "active");
    note("another DHCP server's end to the start of ours", seconds(performance.now() - gone));
    expect(await served()).toMatch(leaseFrom(CHOSEN));
    await reached();
  },
  PATIENCE_MS,
);

test(
  "power that goes and comes back leaks nothing: devices go on, and one that comes new is served",
  async () => {
    const { leaks, web } = await underTraffic(async () => {
      // As long as the kernel may keep what is written.
      await guest.shell("sync");
      await guest.powerOff();
      await bootToTunnel("power cut");
      await guest.until("the server", async () => (await prop("ActiveState")) === "active");
      note("power-on to the DHCP server", seconds(guest.age));
      await reached();
    }, phone.namespace);
    expect(leaks).toEqual([]);
    expect(Object.keys(web?.seenAs ?? {})).toEqual([VPN.vpn1.v4]);
    const sniffer = await lab.sniff();
    expect(await served()).toMatch(leaseFrom(CHOSEN));
    await reached();
    await guest.until("a page by IPv6", async () => (await phone.page(6)) === VPN.vpn1.v6);
    expect(await clean(sniffer)).toEqual([]);
    note("starts of the server that failed at boot", await prop("NRestarts"));
  },
  PATIENCE_MS,
);

test(
  "uninstall removes the server and brings the machine back to what it was",
  async () => {
    expect(await guest.shell(way.remove)).toContain(
      "This machine no longer serves DHCP. Switch it on again in the home router, then reconnect the devices.",
    );
    expect(await guest.shell(SNAPSHOT)).toBe(before);
    expect((await phone.exec("ip", "-6", "route", "show", "default")).stdout).toBe("");
    await phone.turnOn();
    await Bun.sleep(UNANSWERED_MS);
    expect(phone.lease).toBe("");
  },
  PATIENCE_MS,
);

function leaseFrom(address: string): RegExp {
  return new RegExp(
    `^${address}/24 router ${LAN.gateway4} dns ${LAN.gateway4} domain home.arpa lease 43200$`,
  );
}

/** The lease of the phone that is turned on now. */
async function served(): Promise<string> {
  await phone.turnOn();
  await guest.until("a lease", async () => phone.lease !== "");
  return phone.lease;
}

/** Returns once the server has prolonged the lease. */
async function renewed(): Promise<void> {
  const renewals = async () => {
    const { stdout } = await guest.ssh(`journalctl -b -u ${UNIT} --no-pager -o cat`);
    return stdout.split(`${Phone.mac} `).filter((text) => /DHCPACK\(\S+\) \S+ $/.test(text)).length;
  };
  const count = await renewals();
  phone.renew();
  await guest.until("a renewed lease", async () => (await renewals()) > count);
}

/** Returns once the phone has a page through the tunnel. */
async function reached(): Promise<void> {
  let seenAs = "";
  await guest.until("a page", async () => {
    seenAs = (await phone.page(4)) ?? "";
    return seenAs !== "";
  });
  expect(seenAs).toBe(VPN.vpn1.v4);
}

async function othersOf(): Promise<string[]> {
  const { other_routers } = await read("/api/network");
  return other_routers.map(({ address }: { address: string }) => address);
}

async function prop(name: string): Promise<string> {
  return (await guest.shell(`systemctl show -P ${name} ${UNIT}`)).trim();
}

/** Another DHCP server on the LAN's cable, which makes itself the router; the lab ends it with its namespace. */
class OtherServer {
  private constructor(private readonly child: Bun.Subprocess) {}

  static async start(lab: Lab): Promise<OtherServer> {
    const words = [
      ...["--keep-in-foreground", "--user=root", "--port=0", "--interface=lan0", "--bind-interfaces"],
      ...["--log-facility=-", "--pid-file", "--conf-file=/dev/null", "--leasefile-ro", "--no-ping"],
      "--dhcp-range=192.168.77.70,192.168.77.79,255.255.255.0,1h",
    ];
    const log = openSync(join(lab.sandbox.directory, "other.log"), "w", 0o600);
    const argv = ["ip", "netns", "exec", lab.namespaces.client, "dnsmasq", ...words];
    const child = Bun.spawn(argv, { stdin: "ignore", stdout: log, stderr: log });
    closeSync(log);
    return new OtherServer(child);
  }

  async stop(): Promise<void> {
    this.child.kill("SIGKILL");
    await this.child.exited;
  }
}
