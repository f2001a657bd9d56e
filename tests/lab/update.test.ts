import { afterAll, beforeAll, beforeEach, expect, setDefaultTimeout } from "bun:test";
import { randomBytes } from "node:crypto";
import { mkdirSync, readdirSync, readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { version } from "../../package.json";
import { INTERNET, VPN } from "../../src/sandbox/topology.ts";
import { long } from "../fast.ts";
import { Downloads } from "../rig/peers/downloads.ts";
import { createLab, type Gateway, type Lab, type Ran } from "../rig/tools/lab.ts";
import { until } from "../rig/tools/until.ts";
import { Workshop } from "../update/made.ts";
import { programTrusting } from "../update/signed-program.ts";

const { test } = long("each case of what other labs show in passing");

const TIMEOUT_MS = 240_000;
setDefaultTimeout(TIMEOUT_MS);

/** A megabyte, which takes some seconds with a pause after each chunk of 64 KiB. */
const PADDING_BYTES = 2 ** 20;
const PAUSE_MS = 500;
const PLACE = "https://internet.test/";
/** Installs itself as the program does. */
const PROGRAM = `#!/bin/sh
case "$*" in
--version) echo "portcullis %s" ;;
"install --yes") cp "$0" /usr/local/bin/portcullis && echo "the installer has run with umask $(umask)" ;;
esac
exit
`;

let lab: Lab;
let gateway: Gateway;
let workshop: Workshop;
let downloads: Downloads;
let program: string[];
/** In the place of /usr/local/bin, and of /var/tmp, where downloads are. */
let bin: string;
let temporary: string;

beforeAll(async () => {
  workshop = new Workshop();
  program = programTrusting(workshop);
  bin = join(workshop.folder, "bin");
  temporary = join(workshop.folder, "temporary");
  for (const folder of [bin, temporary]) mkdirSync(folder);
  const padding = randomBytes(PADDING_BYTES).toString("base64");
  const release = workshop.release({ program: `${PROGRAM}: ${padding}\n` });
  lab = await createLab({ cards: 2 });
  downloads = await Downloads.start(lab, release);
  gateway = await lab.startGateway();
  await gateway.keep();
});
beforeEach(async () => {
  downloads.dawdle(0);
  await gateway.reset();
  downloads.visits();
});
afterAll(async () => {
  downloads?.stop();
  await lab?.close();
  workshop?.close();
});

/** Runs `portcullis update` on the gateway, where an older version is installed. */
async function update(...flags: string[]): Promise<Ran> {
  writeFileSync(join(bin, "portcullis"), `#!/bin/sh\necho "portcullis ${version}"\n`, { mode: 0o755 });
  const state = ["--state-dir", join(lab.sandbox.directory, "state")];
  const command = [...program, "update", PLACE, ...flags, ...state];
  const settled = 'mount --bind "$0" /usr/local/bin && mount --bind "$1" /var/tmp && shift && exec "$@"';
  const environment = Object.entries(downloads.environment).map(([name, value]) => `${name}=${value}`);
  const ran = await lab.outside([
    ...["ip", "netns", "exec", lab.namespaces.gateway, "env", ...environment],
    ...["sh", "-c", settled, bin, temporary, ...command],
  ]);
  expect(readdirSync(temporary)).toEqual([]);
  return ran;
}

/** What left outside the tunnel meanwhile. */
async function leaksDuring(work: () => Promise<void>): Promise<readonly string[]> {
  const sniffer = await lab.sniff();
  await work();
  const { leaks, missed } = await sniffer.stop();
  expect(missed).toBe(0);
  return leaks;
}

async function connect(): Promise<void> {
  expect((await gateway.api("POST", "/api/connect", { server: "box-vpn-1" })).status).toBe(200);
}

test("without a tunnel it fails, says what to do, and nothing leaves", async () => {
  const leaks = await leaksDuring(async () => {
    expect(await update("--check")).toEqual({
      code: 1,
      stdout: "",
      stderr:
        "portcullis: there is no tunnel to send this through; connect first; or copy the release's files to this machine, and name their folder\n",
    });
    expect((await update("--yes")).code).toBe(1);
  });
  expect(leaks).toEqual([]);
  expect(downloads.visits()).toEqual([]);
});

test("through the tunnel it looks, and upgrades; nothing leaves outside, and nothing is left behind", async () => {
  await connect();
  const leaks = await leaksDuring(async () => {
    const { code, stdout } = await update("--check", "--json");
    expect({ code, ...JSON.parse(stdout) }).toMatchObject({
      code: 4,
      current: version,
      offered: "9.2.0",
      newer: true,
    });
    const done = await update("--yes");
    expect(done).toMatchObject({ code: 0, stderr: "" });
    expect(done.stdout).toContain("- Newest.");
    expect(done.stdout).toEndWith(
      `the installer has run with umask 0022\nPortcullis was updated from ${version} to 9.2.0.\n`,
    );
  });
  expect(leaks).toEqual([]);
  expect(readFileSync(join(bin, "portcullis"), "utf8")).toStartWith(PROGRAM.replace("%s", "9.2.0"));
  const visits = downloads.visits();
  expect(visits.map(({ file }) => file).filter((file) => file.endsWith(".tar.xz"))).toHaveLength(1);
  expect(new Set(visits.map(({ from }) => from))).toEqual(new Set([VPN.vpn1.v4]));
});

test.each(["on", "off"] as const)(
  "with the kill switch %s, a download whose tunnel ends does not go on outside",
  async (wanted) => {
    await connect();
    expect((await gateway.operate("killswitch", wanted)).code).toBe(0);
    downloads.dawdle(PAUSE_MS);
    const leaks = await leaksDuring(async () => {
      const updating = update("--yes");
      await until(async () => downloads.visits().some(({ file }) => file.endsWith(".tar.xz")), TIMEOUT_MS);
      expect((await gateway.api("POST", "/api/disconnect")).status).toBe(200);
      const { code, stderr } = await updating;
      expect({ code, stderr }).toEqual({
        code: 1,
        stderr: expect.stringContaining("the request to internet.test failed: "),
      });
    });
    // With the kill switch off, the kernel tells the VPN server that nobody listens any more.
    expect(wanted === "on" ? leaks : leaks.filter((frame) => frame.includes(INTERNET.host4))).toEqual([]);
    expect(readFileSync(join(bin, "portcullis"), "utf8")).toContain(version);
  },
);

test("positive control: with the kill switch off and no tunnel it goes directly, and the sniffer sees it", async () => {
  expect((await gateway.operate("killswitch", "off")).code).toBe(0);
  const leaks = await leaksDuring(async () => {
    expect((await update("--check")).code).toBe(4);
  });
  expect(leaks.filter((frame) => frame.includes(`${INTERNET.host4} TCP`)).length).toBeGreaterThan(0);
  expect(downloads.visits().length).toBe(3);
  expect((await gateway.operate("killswitch", "on")).code).toBe(0);
  await gateway.kill("SIGTERM");
  expect(await update("--check")).toMatchObject({
    code: 1,
    stderr: expect.stringContaining("the kill switch is in place, and the service is not running"),
  });
  expect(downloads.visits()).toEqual([]);
});
