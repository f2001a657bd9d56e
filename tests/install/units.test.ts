import { afterAll, expect, test } from "bun:test";
import { chmodSync, mkdirSync, mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { dirname, join } from "node:path";
import {
  clockUnit,
  dhcpUnit,
  killSwitchUnit,
  NFTABLES_DROP_IN,
  serviceUnit,
} from "../../src/install/units.ts";

/** Of 10; the rest is network administration, which the service needs, and running as root. */
const MOST_EXPOSURE = 3;

const folder = mkdtempSync(join(tmpdir(), "portcullis-units-"));
afterAll(() => rmSync(folder, { recursive: true }));

/** The relevant part of Debian's unit. */
const DEBIANS_NFTABLES = `[Service]
Type=oneshot
RemainAfterExit=yes
ExecStart=/usr/sbin/nft -f /etc/nftables.conf
ExecStop=/usr/sbin/nft flush ruleset
`;

/** A root folder with the units and the programs that they start. */
function rootWithUnits(): string {
  const put = (path: string, text: string, mode = 0o644) => {
    const file = join(folder, path);
    mkdirSync(dirname(file), { recursive: true });
    writeFileSync(file, text, { mode });
    chmodSync(file, mode);
  };
  for (const program of [
    "/usr/sbin/nft",
    "/usr/sbin/ip",
    "/usr/local/bin/portcullis",
    "/usr/sbin/dnsmasq",
    "/bin/kill",
  ])
    put(program, "", 0o755);
  for (const name of [
    "sysinit",
    "basic",
    "shutdown",
    "local-fs",
    "network-pre",
    "network",
    "multi-user",
    "time-set",
  ])
    put(`/usr/lib/systemd/system/${name}.target`, "[Unit]\n");
  put("/etc/systemd/system/portcullis-killswitch.service", killSwitchUnit());
  put("/etc/systemd/system/portcullis-clock.service", clockUnit());
  put("/etc/systemd/system/portcullis.service", serviceUnit());
  put("/etc/systemd/system/portcullis-dhcp.service", dhcpUnit());
  put("/usr/lib/systemd/system/nftables.service", DEBIANS_NFTABLES);
  put("/etc/systemd/system/nftables.service.d/portcullis.conf", NFTABLES_DROP_IN);
  return folder;
}

function analyze(...args: string[]) {
  const { exitCode, stdout, stderr } = Bun.spawnSync(["systemd-analyze", ...args], {
    env: { PATH: process.env.PATH ?? "", LC_ALL: "C", SYSTEMD_LOG_COLOR: "0" },
  });
  return { exitCode, text: `${stdout}${stderr}` };
}

test("systemd understands every line of the units and of the drop-in that keeps the tables at shutdown", () => {
  const root = rootWithUnits();
  const names = ["portcullis-killswitch", "portcullis-clock", "portcullis", "portcullis-dhcp", "nftables"];
  for (const name of names) {
    expect(analyze("verify", `--root=${root}`, `${name}.service`)).toEqual({ exitCode: 0, text: "" });
  }
});

test.each(["portcullis.service", "portcullis-clock.service", "portcullis-dhcp.service"])(
  "%s is confined: systemd-analyze gives it a low exposure",
  (unit) => {
    const { text } = analyze("security", "--offline=yes", `--root=${rootWithUnits()}`, "--no-pager", unit);
    const exposure = Number(/Overall exposure level for \S+: ([0-9.]+)/.exec(text)?.[1]);
    expect(exposure).toBeLessThan(MOST_EXPOSURE);
  },
);

test("only the unit of the clock may set the clock, and it runs before the service", () => {
  expect(clockUnit()).toContain("CapabilityBoundingSet=CAP_SYS_TIME\n");
  expect(serviceUnit()).toContain("ProtectClock=yes\n");
  expect(serviceUnit()).toMatch(/^After=.*portcullis-clock\.service/m);
});

test("the check of the units finds a line that systemd does not understand", () => {
  const root = rootWithUnits();
  writeFileSync(join(root, "/etc/systemd/system/portcullis.service"), `${serviceUnit()}Wrong=yes\n`);
  expect(analyze("verify", `--root=${root}`, "portcullis.service").text).toContain("Wrong");
});

test("a port below 1024 that is set later works after a restart", () => {
  expect(serviceUnit()).toContain("CapabilityBoundingSet=CAP_NET_ADMIN CAP_NET_BIND_SERVICE CAP_NET_RAW\n");
});

test("routing blocks at boot even if the firewall fails: its lines come first, and their failure stops nothing", () => {
  const lines = killSwitchUnit().match(/(?<=^ExecStart=)\S+/gm);
  expect(lines).toEqual(["-/usr/sbin/ip", "-/usr/sbin/ip", "/usr/sbin/nft", "/usr/sbin/nft"]);
});
