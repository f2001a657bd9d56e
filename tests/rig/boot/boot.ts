import { afterAll, beforeAll, expect, test } from "bun:test";
import { INTERNET, LAN, VPN } from "../../../src/sandbox/topology.ts";
import { RemotePhone } from "./remote-phone.ts";
import {
  addresses,
  arm,
  bootBare,
  bootToTunnel,
  clean,
  closeStage,
  connect,
  dhcp,
  downloads,
  follow,
  guest,
  healthy,
  kernelStart,
  lab,
  leaks,
  listenPort,
  loggedIn,
  mainPid,
  manager,
  NETWORK,
  note,
  openStage,
  PATIENCE_MS,
  packaged,
  page,
  patiently,
  place,
  reachedAt,
  SNAPSHOT,
  savedState,
  seconds,
  tunnelCarries,
  underTraffic,
  way,
} from "./stage.ts";
import { NEWER, OLDER, RELEASE, UPDATE, WAYS } from "./way.ts";

const HOUR_MS = 3_600_000;

/** How long the uplink's connection stays down. */
const DOWN_S = 5;

let before: string;

beforeAll(openStage, PATIENCE_MS);

afterAll(closeStage, PATIENCE_MS);

test(
  "a machine without Portcullis reaches the internet from its boot on: the sniffer sees it",
  async () => {
    const sniffer = await lab.sniff();
    await bootBare();
    before = await guest.shell(SNAPSHOT);
    const { leaks } = await sniffer.stop();
    note("packets outside a tunnel without Portcullis", leaks.length);
    expect(leaks.length).toBeGreaterThan(0);
  },
  PATIENCE_MS,
);

test.if(packaged)(
  "a package that is installed changes nothing but its own files: no unit is enabled, and packets leave",
  async () => {
    const start = performance.now();
    console.log(await guest.shell(way.bring));
    note("apt-get install", seconds(performance.now() - start));
    const units = /^portcullis\S*\.\w+ +disabled .*\n/gm;
    const after = await guest.shell(SNAPSHOT);
    expect(after).toMatch(units);
    expect(after.replace(units, "")).toBe(before);
    await leaks();
  },
  PATIENCE_MS,
);

test(
  "a dry run shows the plan and changes nothing",
  async () => {
    const unarmed = await guest.shell(SNAPSHOT);
    const shown = await guest.shell(`${way.arm} ${place.flags} --dry-run`);
    expect(shown).toContain(way.plans);
    expect(shown).toContain(
      `You are logged in from ${LAN.client4}, which is on the LAN: your session is kept.`,
    );
    expect(await guest.shell(SNAPSHOT)).toBe(unarmed);
  },
  PATIENCE_MS,
);

test(
  "after install nothing leaves, the SSH session stays, and the API answers on the LAN",
  async () => {
    await arm();
    const sniffer = await lab.sniff();
    await healthy();
    await Bun.sleep(3_000);
    expect(await clean(sniffer)).toEqual([]);
    expect(await guest.shell("portcullis killswitch status")).toContain("The kill switch is in place");
    note("resident memory", await savedState());
  },
  PATIENCE_MS,
);

test(
  "a tunnel to a server outside comes up by the kernel's module, and the LAN reaches the internet through it",
  async () => {
    const sniffer = await lab.sniff();
    await connect();
    expect(await page()).toBe(VPN.vpn1.v4);
    expect(await guest.shell("ip -d link show portcullis0")).toContain("wireguard");
    expect(await guest.shell("lsmod")).toContain("wireguard");
    expect(await guest.shell(manager.stateOf("portcullis0"))).toContain("unmanaged");
    expect(await clean(sniffer)).toEqual([]);
  },
  PATIENCE_MS,
);

test(
  "SIGKILL leaks nothing, and the service takes the tunnel over",
  async () => {
    const { leaks, web, flow } = await underTraffic(async () => {
      const [port, old] = [await listenPort(), await mainPid()];
      await guest.shell("systemctl kill -s KILL portcullis");
      await guest.until("another process", async () => (await mainPid()) !== old);
      await healthy();
      expect(await listenPort()).toBe(port);
    });
    expect(leaks).toEqual([]);
    expect(Object.keys(web?.seenAs ?? {})).toEqual([VPN.vpn1.v4]);
    note("longest gap in a TCP flow over SIGKILL", `${flow?.longestGapMs} ms`);
  },
  PATIENCE_MS,
);

test.if(packaged)(
  "a newer release is looked at through the tunnel, and refused with the signature of another key: nothing changes",
  async () => {
    const installed = "dpkg-query -W portcullis; sha256sum /usr/bin/portcullis; ls /var/tmp";
    const sniffer = await lab.sniff();
    const [files, pid] = [await guest.shell(installed), await mainPid()];
    const look = await guest.ssh(`${UPDATE} ${RELEASE} --check`);
    expect(look).toMatchObject({ code: 4, stderr: "" });
    expect(look.stdout).toMatch(
      new RegExp(`^Portcullis ${NEWER} \\(.*\\.deb\\) is signed by .* has ${OLDER}\\.\n\n## .*\n\n- Newest`),
    );
    const forged = await guest.ssh(`${UPDATE} ${RELEASE}forged/ --yes`);
    expect(forged).toMatchObject({
      code: 1,
      stdout: "",
      stderr: expect.stringContaining("SHA256SUMS is not signed by Portcullis's release key"),
    });
    expect(await guest.shell(installed)).toBe(files);
    expect(await mainPid()).toBe(pid);
    expect(await clean(sniffer)).toEqual([]);
  },
  PATIENCE_MS,
);

test(
  "an upgrade leaks nothing, and the tunnel and the flows through it stay",
  async () => {
    const { leaks, web, flow } = await underTraffic(async () => {
      const [port, old] = [await listenPort(), await mainPid()];
      const start = performance.now();
      console.log(await guest.shell(way.upgrade));
      note("upgrade", seconds(performance.now() - start));
      await healthy();
      expect(await mainPid()).not.toBe(old);
      expect(await listenPort()).toBe(port);
      expect(await guest.shell(way.upgraded)).toBe("");
    });
    expect(leaks).toEqual([]);
    expect(Object.keys(web?.seenAs ?? {})).toEqual([VPN.vpn1.v4]);
    expect(flow?.refused).toBe(0);
    note("longest gap in a TCP flow over an upgrade", `${flow?.longestGapMs} ms`);
  },
  PATIENCE_MS,
);

test.if(packaged)(
  "after the update the service runs the new version, a second update says so, and all was fetched through the tunnel",
  async () => {
    const running = '"/proc/$(systemctl show -P MainPID portcullis)/exe" --version';
    expect(await guest.shell(running)).toBe(`portcullis ${NEWER}\n`);
    expect(await guest.shell(`${UPDATE} ${RELEASE} --yes`)).toBe(`Portcullis ${NEWER} is up to date.\n`);
    const visits = downloads.visits();
    expect(visits.filter(({ file }) => file.endsWith(".deb"))).toHaveLength(1);
    expect(new Set(visits.map(({ from }) => from))).toEqual(new Set([VPN.vpn1.v4]));
  },
  PATIENCE_MS,
);

test(
  "a reboot leaks nothing: the kill switch stands before the network, and the tunnel comes back",
  async () => {
    const sniffer = await lab.sniff();
    await guest.ssh("systemctl reboot");
    await guest.ended();
    await bootToTunnel("reboot");
    expect(await clean(sniffer)).toEqual([]);
    const [switched, networking] = [
      await reachedAt("portcullis-killswitch", "ActiveEnter"),
      await reachedAt(manager.units[0], "InactiveExit"),
    ];
    expect(switched).toBeLessThan(networking);
    note("power-on to kill switch", seconds(switched));
    note("power-on to the first of the network", seconds(networking));
    note("power-on to the service's readiness", seconds(await reachedAt("portcullis", "ActiveEnter")));
    note("of these, power-on to the kernel's start", seconds(await kernelStart()));
  },
  PATIENCE_MS,
);

test(
  "a remote phone comes home after a reboot before anybody logs in, and leaves by the tunnel again",
  async () => {
    const remote = await RemotePhone.open(lab, place.address);
    try {
      await patiently(RemotePhone.on);
      await remote.phone.takes(await patiently("portcullis remote add phone --file"));
      await guest.until("the phone at home", () => remote.isHome());
      await guest.ssh("systemctl reboot");
      await guest.ended();
      expect([await remote.isHome(), await remote.seenAs()]).toEqual([false, ""]);
      guest.powerOn();
      note(
        "power-on to the phone at home",
        seconds(await guest.until("the phone at home", () => remote.isHome())),
      );
      const leaves = async () => (await remote.seenAs()) !== "";
      note("power-on to the internet for the phone", seconds(await guest.until("the phone's exit", leaves)));
      expect(await remote.seenAs()).toBe(VPN.vpn1.v4);
      await loggedIn();
      // This one.
      expect(await guest.shell("journalctl -b -u ssh -o cat --no-pager | grep -c ^Accepted")).toBe("1\n");
      expect((await clean(remote.sniffer)).filter((leak) => !remote.isAllowed(leak))).toEqual([]);
      await patiently("portcullis remote remove phone");
      expect(await remote.isHome()).toBe(false);
      await patiently("portcullis remote off");
      await tunnelCarries();
    } finally {
      await remote.close();
    }
  },
  PATIENCE_MS,
);

test(
  "power that goes and comes back leaks nothing",
  async () => {
    const { leaks, web } = await underTraffic(async () => {
      await Bun.sleep(1_000);
      await guest.powerOff();
      await bootToTunnel("power cut");
    });
    expect(leaks).toEqual([]);
    expect(Object.keys(web?.seenAs ?? {})).toEqual([VPN.vpn1.v4]);
  },
  PATIENCE_MS,
);

test.each([
  ["an hour", HOUR_MS],
  ["400 days", 400 * 24 * HOUR_MS],
])(
  "power that comes back with a clock that is %s behind: the tunnel comes up by itself, and nothing leaks",
  async (behind, ms) => {
    const { leaks } = await underTraffic(async () => {
      await guest.powerOff();
      await bootToTunnel(`power cut, clock ${behind} behind`, Date.now() - ms);
    });
    expect(leaks).toEqual([]);
    expect(await guest.shell("journalctl -b -u portcullis-clock --no-pager")).toContain(
      "The clock was behind and is moved",
    );
    const clock = 1_000 * Number(await guest.shell("date +%s"));
    expect(Math.abs(clock - Date.now())).toBeLessThan(HOUR_MS / 2);
  },
  PATIENCE_MS,
);

test(
  "names are looked up through the tunnel, on the gateway and for the LAN",
  async () => {
    const sniffer = await lab.sniff();
    const look = ["getent", "ahostsv4", "internet.test"];
    const finds = async () => (await guest.ssh(look.join(" "))).stdout.includes(INTERNET.host4);
    // systemd-resolved gives up a query after 20 s, which a slow machine may need for the first.
    await guest.until("an address for a name", finds);
    expect((await lab.exec(lab.namespaces.client, look)).stdout).toContain(INTERNET.host4);
    expect(await clean(sniffer)).toEqual([]);
  },
  PATIENCE_MS,
);

test(
  "the lease is renewed twice, the tunnel stays, and nothing leaks",
  async () => {
    const [port, discoveries, renewals] = [
      await listenPort(),
      dhcp.count("DHCPDISCOVER(lan0)"),
      dhcp.count("DHCPACK(lan0)"),
    ];
    const { leaks, web } = await underTraffic(() =>
      guest.until("a renewed lease", async () => dhcp.count("DHCPACK(lan0)") >= renewals + 2),
    );
    expect(leaks).toEqual([]);
    expect(Object.keys(web?.seenAs ?? {})).toEqual([VPN.vpn1.v4]);
    expect(dhcp.count("DHCPDISCOVER(lan0)")).toBe(discoveries);
    expect(await listenPort()).toBe(port);
  },
  PATIENCE_MS,
);

test.each([
  ["another address from DHCP", place.otherAddress],
  ["the former address again", place.address],
])(
  "%s: the tunnel works from it, and nothing leaks",
  async (name, address) => {
    const { leaks } = await underTraffic(async () => {
      const given = performance.now();
      await dhcp.give(address);
      await guest.until(name, async () => dhcp.count(`DHCPACK(lan0) ${address}`) > 0);
      await follow(address);
      await guest.until("no other address", async () => Bun.deepEquals(await addresses(), [`${address}/24`]));
      await tunnelCarries();
      note(`${name} to the internet for the LAN`, seconds(performance.now() - given));
    });
    expect(leaks).toEqual([]);
  },
  PATIENCE_MS,
);

test.each([
  ["the network service restarts", `systemctl restart ${manager.units.join(" ")}`],
  [
    "the uplink's connection goes down and comes back",
    `${manager.down("eth0")}; sleep ${DOWN_S}; ${manager.up("eth0")}`,
  ],
])(
  "%s: nothing leaks, and the tunnel comes back",
  async (name, command) => {
    const { leaks, web } = await underTraffic(async () => {
      // Not in this session, which may be on that cable.
      const unit = `boot-test-${name.replaceAll(/\W/g, "-")}`;
      const begun = performance.now();
      await guest.shell(`systemd-run -q -r --unit=${unit} -- sh -exc '${command}'`);
      const state = async () => (await guest.ssh(`systemctl show -P SubState ${unit}`)).stdout.trim();
      await guest.until(name, async () => ["exited", "failed"].includes(await state()));
      if ((await state()) === "failed")
        throw new Error(await guest.shell(`journalctl -u ${unit} --no-pager`));
      await tunnelCarries();
      note(`${name}, to the internet for the LAN`, seconds(performance.now() - begun));
    });
    expect(leaks).toEqual([]);
    expect(Object.keys(web?.seenAs ?? {})).toEqual([VPN.vpn1.v4]);
  },
  PATIENCE_MS,
);

test(
  "a boot whose saved rules are damaged leaks nothing either, and the service saves them anew",
  async () => {
    const sniffer = await lab.sniff();
    await guest.shell(
      "echo damaged >/var/lib/portcullis/boot/firewall.nft; rm /var/lib/portcullis/boot/rules-*; sync",
    );
    await guest.powerOff();
    await bootToTunnel("damaged boot files");
    expect(await clean(sniffer)).toEqual([]);
    // They are replaced one by one, and one that is read may be gone.
    const saved = async () => (await guest.ssh("cat /var/lib/portcullis/boot/*")).stdout;
    await guest.until("the saved rules", async () =>
      (await saved()).includes("rule add priority 90 unreachable"),
    );
  },
  PATIENCE_MS,
);

test.if(packaged)(
  "without the package the network is what it was, and an installation by hand knows what the package kept",
  async () => {
    console.log(await guest.shell("apt-get remove -y portcullis"));
    const network = await guest.shell(NETWORK);
    expect(before).toStartWith(network);
    await leaks();
    console.log(await guest.shell(`${WAYS.hand.arm} ${place.flags} --yes`));
    const sniffer = await lab.sniff();
    await healthy();
    await tunnelCarries();
    expect(await clean(sniffer)).toEqual([]);
  },
  PATIENCE_MS,
);

test.if(packaged)(
  "the package takes over what was installed by hand: nothing leaks, and the tunnel and the flows through it stay",
  async () => {
    const { leaks, flow } = await underTraffic(async () => {
      const [port, old] = [await listenPort(), await mainPid()];
      console.log(await guest.shell(way.bring));
      expect(await mainPid()).toBe(old);
      console.log(await guest.shell("/usr/bin/portcullis setup --yes"));
      await healthy();
      expect(await guest.shell('readlink "/proc/$(systemctl show -P MainPID portcullis)/exe"')).toBe(
        "/usr/bin/portcullis\n",
      );
      expect(await listenPort()).toBe(port);
      expect((await guest.ssh("ls /usr/local/bin /etc/systemd/system | grep portcullis")).stdout).toBe("");
    });
    expect(leaks).toEqual([]);
    expect(flow?.refused).toBe(0);
    note("longest gap in a TCP flow over a take-over", `${flow?.longestGapMs} ms`);
  },
  PATIENCE_MS,
);

test(
  "removal brings the machine back to what it was",
  async () => {
    console.log(await guest.shell(way.remove));
    expect(await guest.shell(SNAPSHOT)).toBe(before);
    await leaks();
  },
  PATIENCE_MS,
);
