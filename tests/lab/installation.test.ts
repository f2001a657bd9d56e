import { afterAll, beforeAll, expect } from "bun:test";
import { readdirSync, readFileSync, statSync } from "node:fs";
import { join } from "node:path";
import { filesByHand } from "../../src/install/machine.ts";
import { UNITS } from "../../src/install/paths.ts";
import { INTERNET, LAN, type NetworkCards, ROUTER, UPLINK, VPN } from "../../src/sandbox/topology.ts";
import { BY_HAND, PACKAGED } from "../../src/system/layout.ts";
import { long } from "../fast.ts";
import { Installation } from "../rig/home/installation.ts";
import { story } from "../rig/tools/claims.ts";
import { createLab, type Lab } from "../rig/tools/lab.ts";
import { Listener } from "../rig/tools/listener.ts";

const { describe } = long("the same gateway with other DHCP programs");

const PAGE = `http://${INTERNET.host4}/ip`;
const PATIENCE_MS = 120_000;
const SYSCTLS = "^net.ipv[46].(ip_forward|conf.*(forwarding|redirects|arp_ignore|valid_mark|accept_ra))";

describe.each([2, 1] as const)("an installation with %i network card(s)", (cards: NetworkCards) => {
  let lab: Lab;
  let machine: Installation;
  let before: string;

  beforeAll(async () => {
    lab = await createLab({ cards });
    machine = new Installation(lab);
    before = await network();
  }, PATIENCE_MS);
  afterAll(() => lab.close(), PATIENCE_MS);

  const page = () => lab.fetchFrom(lab.namespaces.client, PAGE);
  const port = () => inside("wg show", `${lab.sandbox.interface}0`, "listen-port");
  const inside = async (line: string, ...words: string[]) =>
    (await lab.exec(lab.namespaces.gateway, [...line.split(" "), ...words])).stdout;
  /** Both layers of the kill switch. */
  const killSwitch = async () =>
    (await Promise.all(["nft -s list ruleset", "ip rule", "ip -6 rule"].map((line) => inside(line)))).join(
      "\n",
    );
  /** Boot does without the tables that block nothing of their own, which not every kernel has. */
  const blocking = async () =>
    (await killSwitch()).replace(/^table (?:inet portcullis_\w+|arp portcullis) \{.*?^\}\n/gms, "");
  /** All of the kernel that an installation changes. */
  const network = async () =>
    [
      await killSwitch(),
      await inside("ip -br link"),
      await inside("ip route show table all"),
      await inside("sysctl -ar", SYSCTLS),
    ].join("\n");
  /** With one card the plain router tells the client of the shorter way (ICMP redirect), and the client remembers. */
  async function forgetRedirects(): Promise<void> {
    for (const family of ["-4", "-6"]) {
      await lab.exec(lab.namespaces.client, ["ip", family, "route", "flush", "cache"]);
    }
  }
  async function unprotected(): Promise<string | null> {
    const found = await page();
    await forgetRedirects();
    return found;
  }
  /** Whether a listener at the gateway's port can be reached. */
  async function answers(from: string, address: string, at: number): Promise<boolean> {
    const listener = await Listener.start(lab.namespaces.gateway, at);
    const { code } = await lab.exec(from, ["timeout", "3", "bash", "-c", `</dev/tcp/${address}/${at}`]);
    await listener.stop();
    return code === 0;
  }
  /** Before DHCP has given the uplink its address. */
  async function cutOff(): Promise<void> {
    await inside(`ip -4 address flush dev ${lab.sandbox.uplink}`);
  }
  async function plugIn(): Promise<void> {
    const address = cards === 1 ? LAN.gateway4 : UPLINK.gateway4;
    await inside(`ip address add ${address}/24 dev ${lab.sandbox.uplink}`);
    await inside(`ip route add default via ${ROUTER.lan[cards].v4} dev ${lab.sandbox.uplink}`);
  }
  /** A machine that starts has neither layer, and no `nft` that a killed service has left at work. */
  async function forgetAll(): Promise<void> {
    const left = `for pid in $(ip netns pids "$0"); do
      [ "$(cat /proc/$pid/comm)" != nft ] || kill -KILL $pid
    done 2>/dev/null`;
    await lab.outside(["sh", "-c", left, lab.namespaces.gateway]);
    await inside("nft flush ruleset");
    for (const ip of ["ip", "ip -6"]) {
      await inside(`${ip} rule flush`);
      await inside(`${ip} rule add priority 32766 lookup main`);
    }
    await inside("ip rule add priority 32767 lookup default");
  }

  story(
    "installed, booted, upgraded, taken over by the package and uninstalled, it leaks nothing and leaves nothing",
    PATIENCE_MS,
    (claim) => {
      claim("what boot sets with nft and ip alone is what the service sets, to the letter", async () => {
        expect(await unprotected()).not.toBeNull();
        await machine.install("release 1");
        const byService = await blocking();
        await machine.gateway?.kill("SIGKILL");
        await forgetAll();
        expect(await unprotected()).not.toBeNull();
        await machine.boot();
        expect(await killSwitch()).toBe(byService);
        expect(await page()).toBeNull();
        await machine.gateway?.start();
        expect(await blocking()).toBe(byService);
      });

      claim(
        "at boot the uplink gets its address and its default route, with and without the service",
        async () => {
          for (const served of [false, true]) {
            await machine.gateway?.kill("SIGKILL");
            await forgetAll();
            await cutOff();
            await machine.boot();
            if (served) await machine.gateway?.start();
            await plugIn();
            expect(await inside("ip route show default")).toContain(`default via ${ROUTER.lan[cards].v4}`);
          }
        },
      );

      claim(
        "damaged files leave nothing open at boot, not even for answers to the LAN that would take the wrong cable",
        async () => {
          await machine.gateway?.kill("SIGKILL");
          await forgetAll();
          machine.damage();
          await machine.boot().catch(() => {});
          const sniffer = await lab.sniff();
          // As while the LAN's cable is not up yet: its addresses are behind the default route.
          await inside(`ip route del ${LAN.prefix4} dev ${lab.sandbox.lan}`);
          expect(await answers(lab.namespaces.client, LAN.gateway4, 22)).toBe(false);
          await inside(`ip route add ${LAN.prefix4} dev ${lab.sandbox.lan} src ${LAN.gateway4} proto kernel`);
          expect((await sniffer.stop()).leaks.filter((frame) => frame.startsWith(LAN.gateway4))).toEqual([]);
          expect(await answers(lab.namespaces.gateway, "127.0.0.1", 80)).toBe(true);
          expect(await page()).toBeNull();
          expect(await lab.fetchFrom(lab.namespaces.gateway, PAGE)).toBeNull();
          await machine.gateway?.start();
        },
      );

      /** Plays an upgrade to `release` under traffic; nothing may leak, and no flow may end. */
      async function upgrade(release: string, work: () => Promise<void>, program: string): Promise<void> {
        const [used, sniffer] = [await port(), await lab.sniff()];
        const traffic = await lab.traffic(lab.namespaces.client);
        await work();
        expect(await page()).toBe(VPN.vpn1.v4);
        const { flow } = await traffic.stop();
        expect((await sniffer.stop()).leaks).toEqual([]);
        expect(flow?.refused).toBe(0);
        expect(await port()).toBe(used);
        expect(readFileSync(join(machine.root, program), "utf8")).toBe(release);
      }

      claim("an upgrade keeps the tunnel and its flows, and leaks nothing", async () => {
        expect((await machine.gateway?.api("POST", "/api/connect", { server: "box-vpn-1" }))?.body).toEqual({
          success: true,
        });
        await upgrade("release 2", () => machine.install("release 2"), BY_HAND.program);
      });

      claim(
        "when the package takes over, the tunnel and its flows stay, nothing leaks, and its kill switch is for the next boot",
        async () => {
          await upgrade("release 3", () => machine.setUp("release 3"), PACKAGED.program);
          expect(filesByHand(machine.root)).toEqual({ units: [], programs: [] });
          await machine.gateway?.kill("SIGKILL");
          await forgetAll();
          expect(await unprotected()).not.toBeNull();
          await machine.boot();
          expect(await page()).toBeNull();
          await machine.gateway?.start();
          expect(await page()).toBe(VPN.vpn1.v4);
        },
      );

      claim("an uninstallation brings network and files back to what they were", async () => {
        await machine.uninstall();
        expect(await network()).toBe(before);
        const files = readdirSync(machine.root, { recursive: true, encoding: "utf8" });
        const left = files.filter((name) => statSync(join(machine.root, name)).isFile());
        // The rest is dpkg's.
        const packaged = [PACKAGED.program, ...UNITS.map((unit) => join(PACKAGED.units, unit))];
        expect(left.map((name) => `/${name}`).toSorted()).toEqual(packaged.toSorted());
        expect(await unprotected()).not.toBeNull();
      });

      claim(
        "if the machine did not forward before, nothing of a device leaves while it is uninstalled",
        async () => {
          const own = [LAN.client4, LAN.client6];
          const leaving = async (work: () => Promise<unknown>) => {
            const sniffer = await lab.sniff();
            const traffic = await lab.traffic(lab.namespaces.client);
            await work();
            await traffic.stop();
            return (await sniffer.stop()).leaks.filter((frame) => own.some((each) => frame.startsWith(each)));
          };
          expect((await leaving(() => Bun.sleep(500))).length).toBeGreaterThan(0);
          await forgetRedirects();
          await inside("sysctl -w net.ipv4.ip_forward=0 net.ipv6.conf.all.forwarding=0");
          machine.gateway = null;
          machine.told.length = 0;
          await machine.install("release 4");
          expect(await leaving(() => machine.uninstall())).toEqual([]);
          expect(await inside("sysctl -n net.ipv4.ip_forward")).toBe("0\n");
        },
      );
    },
  );
});
