import { expect, test } from "bun:test";
import { networkOf } from "../../src/base/address.ts";
import { settingsFrom } from "../../src/base/settings.ts";
import { dnsmasqConfig } from "../../src/dhcp/config.ts";
import { watchDhcpConfig } from "../../src/dhcp/config-watch.ts";
import { DHCP_FILES } from "../../src/dhcp/files.ts";
import { servedLans } from "../../src/dhcp/lans.ts";
import { cidr } from "../fake/address.ts";
import { ONE_CABLE } from "../install/example.ts";

const RESTART = "systemctl --no-block try-restart portcullis-dhcp.service";
const CHANGED = "the LAN has changed: the DHCP server starts again with addresses of it";

interface Story {
  /** The gateway's address at a time, in seconds. */
  own: (seconds: number) => string;
  given?: Record<string, string>;
  /** Whether systemd refuses at that time. */
  refuses?: (seconds: number) => boolean;
}

/** What is run, by second, and what is logged, in five minutes. The server's start is not played. */
async function played({ own, given = {}, refuses = () => false }: Story) {
  const settings = settingsFrom({ dhcp: "on", ...given });
  const { network, facts } = ONE_CABLE;
  const config = dnsmasqConfig(servedLans(network, facts, settingsFrom({ dhcp: "on" })), DHCP_FILES);
  const stopping = new AbortController();
  const [commands, warnings]: [string[], string[]] = [[], []];
  let now = 0;
  const host = {
    run: async (argv: readonly string[]) => {
      if (argv[0] === "systemctl") commands.push(`${now} ${argv.join(" ")}`);
      if (argv[0] === "systemctl" && refuses(now)) throw new Error("systemctl: no answer");
      const [local, length] = own(now).split("/");
      const shown = [{ ifname: "eth0", addr_info: [{ local, prefixlen: Number(length) }] }];
      return argv.includes("address") ? JSON.stringify(shown) : "[]";
    },
    read: async (path: string) => (path === DHCP_FILES.config ? config : null),
    sleep: async (ms: number) => {
      now += ms / 1_000;
      if (now > 300) stopping.abort();
    },
  };
  const lansNow = () => [{ interface: "eth0", prefixes: [networkOf(cidr(own(now)))] }];
  await watchDhcpConfig(
    {
      host,
      settings,
      network: () => ({ ...network, lans: lansNow() }),
      log: { warn: (message) => void warnings.push(message) },
    },
    stopping.signal,
  );
  return { commands, warnings };
}

const HOME = "192.168.7.2/24";
const MOVED = "192.168.9.2/24";

test("the server starts again, once, when the LAN has had another prefix for ten seconds", async () => {
  expect(await played({ own: (now) => (now < 100 ? HOME : MOVED) })).toEqual({
    commands: [`110 ${RESTART}`],
    warnings: [CHANGED],
  });
});

test("a LAN that changed while the service was down is noticed too", async () => {
  expect(await played({ own: () => MOVED })).toEqual({ commands: [`20 ${RESTART}`], warnings: [CHANGED] });
});

test("the same LAN and an address that is gone for a moment restart nothing", async () => {
  expect(await played({ own: () => HOME })).toEqual({ commands: [], warnings: [] });
  expect(await played({ own: (now) => (now === 100 ? MOVED : HOME) })).toEqual({
    commands: [],
    warnings: [],
  });
});

test("a range that is outside the LAN now is logged, and nothing restarts", async () => {
  const story = { own: (now: number) => (now < 100 ? HOME : MOVED) };
  expect(await played({ ...story, given: { dhcp: "192.168.7.50-192.168.7.99" } })).toEqual({
    commands: [],
    warnings: [
      "the DHCP server does not fit the LAN: --dhcp: 192.168.7.50-192.168.7.99 is outside the LAN; choose addresses from 192.168.9.0/24 on eth0",
    ],
  });
});

test("a restart that systemd does not begin is tried again, and told once", async () => {
  expect(await played({ own: () => MOVED, refuses: (now) => now < 40 })).toEqual({
    commands: [`20 ${RESTART}`, `30 ${RESTART}`, `40 ${RESTART}`],
    warnings: ["the DHCP server does not fit the LAN: systemctl: no answer", CHANGED],
  });
});

test("without DHCP, nothing is done", async () => {
  expect(await played({ own: () => MOVED, given: { dhcp: "off" } })).toEqual({ commands: [], warnings: [] });
});
