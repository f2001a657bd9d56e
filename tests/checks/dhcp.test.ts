import { expect, test } from "bun:test";
import { networkOf } from "../../src/base/address.ts";
import { settingsFrom } from "../../src/base/settings.ts";
import { dhcpFinding } from "../../src/checks/dhcp.ts";
import { dnsmasqConfig } from "../../src/dhcp/config.ts";
import { DHCP_FILES } from "../../src/dhcp/files.ts";
import { servedLans } from "../../src/dhcp/lans.ts";
import { cidr } from "../fake/address.ts";
import { ONE_CABLE } from "../install/example.ts";

const RANGE = "192.168.7.50-192.168.7.99";

interface World {
  dhcp?: string;
  own?: string;
  unit?: [state: string, status?: string];
  isInstalled?: boolean;
}

async function found({ dhcp = "on", own = "192.168.7.2/24", unit = ["active"], isInstalled = true }: World) {
  const { network, facts } = ONE_CABLE;
  const settings = settingsFrom({ dhcp });
  const config = isInstalled ? dnsmasqConfig(servedLans(network, facts, settings), DHCP_FILES) : null;
  const [local, length] = own.split("/");
  const host = {
    run: async (argv: readonly string[]) => {
      if (argv[0] === "systemctl") return `ActiveState=${unit[0]}\nStatusText=${unit[1] ?? ""}\n`;
      const shown = [{ ifname: "eth0", addr_info: [{ local, prefixlen: Number(length) }] }];
      return argv.includes("address") ? JSON.stringify(shown) : "[]";
    },
    read: async (path: string) => (path === DHCP_FILES.config ? config : null),
  };
  const lans = [{ interface: "eth0", prefixes: [networkOf(cidr(own))] }];
  const finding = await dhcpFinding(host, settings, async () => ({ ...network, lans }));
  return finding && `${finding.result}: ${finding.found}`;
}

test("a server that runs is fine, and the check says what it gives out", async () => {
  expect(await found({})).toBe("ok: eth0 (192.168.7.100-192.168.7.249)");
  expect(await found({ dhcp: "off", isInstalled: false })).toBeNull();
});

test("what it waits for is a warning, and a server that does not run a fault", async () => {
  expect(await found({ unit: ["activating", "another DHCP server answers"] })).toBe(
    "warning: it waits: another DHCP server answers",
  );
  expect(await found({ unit: ["activating"] })).toBe("warning: it is starting");
  expect(await found({ unit: ["inactive"] })).toBe("fault: it does not run");
  expect(await found({ isInstalled: false })).toBe("fault: it is not installed");
});

test("a LAN with another prefix is a warning until the server has started again, and with a chosen range a fault", async () => {
  const own = "192.168.9.2/24";
  expect(await found({ own })).toBe(
    "warning: the LAN has changed, and the server still gives out addresses of the old one",
  );
  expect(await found({ own, dhcp: RANGE })).toBe(
    `fault: it serves nobody: --dhcp: ${RANGE} is outside the LAN; choose addresses from 192.168.9.0/24 on eth0`,
  );
});
