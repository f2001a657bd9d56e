import { afterAll, expect, test } from "bun:test";
import { chmodSync, mkdirSync, mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { dirname, join } from "node:path";
import { NFTABLES_DROP_IN, unitsFor } from "../../src/install/units.ts";
import { BY_HAND, type Layout, PACKAGED } from "../../src/system/layout.ts";

/** Of 10; the rest is network administration, which the service needs, and running as root. */
const MAX_EXPOSURE = 3;

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
function rootWithUnits(layout = BY_HAND): string {
  const root = join(folder, layout.command);
  const put = (path: string, text: string, mode = 0o644) => {
    const file = join(root, path);
    mkdirSync(dirname(file), { recursive: true });
    writeFileSync(file, text, { mode });
    chmodSync(file, mode);
  };
  for (const program of ["/usr/sbin/nft", "/usr/sbin/ip", layout.program, "/usr/sbin/dnsmasq", "/bin/kill"])
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
  for (const [name, text] of Object.entries(unitsFor(layout.program))) put(join(layout.units, name), text);
  put("/usr/lib/systemd/system/nftables.service", DEBIANS_NFTABLES);
  put("/etc/systemd/system/nftables.service.d/portcullis.conf", NFTABLES_DROP_IN);
  return root;
}

function unitText(name: string): string {
  return unitsFor(BY_HAND.program)[`${name}.service`] ?? "";
}

function analyze(...args: string[]) {
  const { exitCode, stdout, stderr } = Bun.spawnSync(["systemd-analyze", ...args], {
    env: { PATH: process.env.PATH ?? "", LC_ALL: "C", SYSTEMD_LOG_COLOR: "0" },
  });
  return { exitCode, text: `${stdout}${stderr}` };
}

test.each<[string, Layout]>([
  ["installed by hand", BY_HAND],
  ["of the package", PACKAGED],
])(
  "systemd understands every line of the units %s, and of the drop-in that keeps the tables",
  (_, layout) => {
    const root = rootWithUnits(layout);
    const names = ["portcullis-killswitch", "portcullis-clock", "portcullis", "portcullis-dhcp", "nftables"];
    for (const name of names) {
      expect(analyze("verify", `--root=${root}`, `${name}.service`)).toEqual({ exitCode: 0, text: "" });
    }
  },
);

test.each(["portcullis.service", "portcullis-clock.service", "portcullis-dhcp.service"])(
  "%s is confined: systemd-analyze gives it a low exposure",
  (unit) => {
    const { text } = analyze("security", "--offline=yes", `--root=${rootWithUnits()}`, "--no-pager", unit);
    const exposure = Number(/Overall exposure level for \S+: ([0-9.]+)/.exec(text)?.[1]);
    expect(exposure).toBeLessThan(MAX_EXPOSURE);
  },
);

test("only the unit of the clock may set the clock, and it runs before the service", () => {
  expect(unitText("portcullis-clock")).toContain("CapabilityBoundingSet=CAP_SYS_TIME\n");
  expect(unitText("portcullis")).toContain("ProtectClock=yes\n");
  expect(unitText("portcullis")).toMatch(/^After=.*portcullis-clock\.service/m);
});

test("when the package takes over, its units are enabled from the moment when those by hand are gone", () => {
  const root = rootWithUnits(PACKAGED);
  const systemctl = (...args: string[]) => {
    const argv = ["systemctl", `--root=${root}`, "--quiet", ...args, "portcullis.service"];
    return Bun.spawnSync(argv).exitCode;
  };
  const byHand = join(root, BY_HAND.units, "portcullis.service");
  writeFileSync(byHand, unitText("portcullis"));
  expect([systemctl("is-enabled"), systemctl("enable"), systemctl("is-enabled")]).toEqual([1, 0, 0]);
  rmSync(byHand);
  expect([systemctl("is-enabled"), systemctl("enable"), systemctl("is-enabled")]).toEqual([0, 0, 0]);
  expect([systemctl("disable"), systemctl("is-enabled")]).toEqual([0, 1]);
});

test("the check of the units finds a line that systemd does not understand", () => {
  const root = rootWithUnits();
  writeFileSync(join(root, "/etc/systemd/system/portcullis.service"), `${unitText("portcullis")}Wrong=yes\n`);
  expect(analyze("verify", `--root=${root}`, "portcullis.service").text).toContain("Wrong");
});

test("a port below 1024 that is set later works after a restart", () => {
  expect(unitText("portcullis")).toContain(
    "CapabilityBoundingSet=CAP_NET_ADMIN CAP_NET_BIND_SERVICE CAP_NET_RAW\n",
  );
});

test("routing blocks at boot even if the firewall fails: its lines come first, and their failure stops nothing", () => {
  const lines = unitText("portcullis-killswitch").match(/(?<=^ExecStart=)\S+/gm);
  expect(lines).toEqual(["-/usr/sbin/ip", "-/usr/sbin/ip", "/usr/sbin/nft", "/usr/sbin/nft"]);
});

test("when memory runs out, the service is ended if it took it, and starts again; else others are", () => {
  const lines = unitText("portcullis").split("\n");
  for (const line of [
    "MemoryMax=512M",
    "OOMPolicy=continue",
    "OOMScoreAdjust=-500",
    "Restart=always",
    "KillMode=process",
  ])
    expect(lines).toContain(line);
});
