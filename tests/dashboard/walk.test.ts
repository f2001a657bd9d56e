import { afterAll, beforeAll, expect } from "bun:test";
import { copyFileSync, mkdtempSync, readFileSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { version } from "../../package.json";
import { INTERNET, LAN, VPN } from "../../src/sandbox/topology.ts";
import { long } from "../fast.ts";
import { NUMBER } from "../providers/mullvad/provider.ts";
import { Browser, type Tab } from "../rig/dashboard/browser.ts";
import { TIMEOUT_MS } from "../rig/dashboard/rig.ts";
import { DebianGateway } from "../rig/home/debian-gateway.ts";
import { ProviderSite } from "../rig/peers/provider.ts";
import { story } from "../rig/tools/claims.ts";
import { createLab, type Lab } from "../rig/tools/lab.ts";
import { until } from "../rig/tools/until.ts";

const { describe } = long("the whole way of the first run");

/** The first run as one path, from the installed package to a protected device, of no more screens than this. */
const MAX_SCREENS = 6;
const PACKAGE = "/root/portcullis.deb";
const STEP = (number: number) => `.step:nth-child(${number})`;

/** From where the internet sees what has left by a tunnel. */
const addresses: readonly string[] = Object.values(VPN).map(({ v4 }) => v4);

const folder = mkdtempSync(join(tmpdir(), "portcullis-walk-"));
const architecture = process.arch === "x64" ? "amd64" : process.arch;

beforeAll(() => {
  if (!process.env.PORTCULLIS_TEST_PROGRAM) ran("scripts/build");
  ran("scripts/package", architecture, process.env.PORTCULLIS_TEST_PROGRAM ?? "dist/portcullis", folder);
}, TIMEOUT_MS);
afterAll(() => rmSync(folder, { recursive: true }));

function ran(...argv: string[]): void {
  const { exitCode, stderr } = Bun.spawnSync(argv, {
    cwd: join(import.meta.dir, "../.."),
    env: { ...process.env, DPKG_DEB_COMPRESSOR_TYPE: "none" },
  });
  if (exitCode !== 0) throw new Error(`${argv.join(" ")}: ${stderr}`);
}

/** What a person does: types at the gateway, and looks at its page on a laptop. */
class Walk {
  lab!: Lab;
  machine!: DebianGateway;
  browser!: Browser;
  tab!: Tab;
  provider!: ProviderSite;
  private readonly screens = new Set<string>();

  async begin(): Promise<void> {
    this.lab = await createLab({ cards: 2 });
    this.provider = await ProviderSite.start(this.lab);
    this.machine = await DebianGateway.start(this.lab, { NODE_EXTRA_CA_CERTS: "/etc/provider.pem" });
    const { certificate } = this.provider;
    copyFileSync(certificate, join(this.machine.root, "etc/provider.pem"));
    copyFileSync(this.lab.sandbox.files.managedList, join(this.machine.root, "etc/provider.json"));
    const name = `portcullis_${version}_${architecture}.deb`;
    copyFileSync(join(folder, name), join(this.machine.root, PACKAGE));
    this.browser = await Browser.start(this.lab.namespaces.client);
    // The laptop has been connected to the gateway's LAN, and told of no router yet.
    for (const family of ["-4", "-6"]) await this.onLaptop("ip", family, "route", "del", "default");
  }

  async end(): Promise<void> {
    await this.browser?.close();
    await this.provider?.stop();
    await this.machine?.close();
    await this.lab?.close();
  }

  async type(line: string): Promise<string> {
    // The machine has only root.
    const { code, stdout, stderr } = await this.machine.type(line.replace(/^sudo /, ""));
    if (code !== 0) throw new Error(`${line}: ${stdout}${stderr}`);
    return stdout;
  }

  /** The package is installed, and what it says is typed; what that says is opened. */
  async install(flags: string): Promise<void> {
    // Tests may run where not all that it depends on is a package of its own.
    const said = await this.type(`dpkg --force-depends --install ${PACKAGE} 2>&1`);
    const setup = /To make this machine a gateway: (sudo portcullis setup)$/m.exec(said)?.[1] ?? "";
    const done = await this.type(`${setup} --yes${flags}`);
    expect(done).toContain("the kill switch is in place");
    const page = /it guides you through the rest: (http\S+)$/m.exec(done)?.[1];
    expect(page).toBe(`http://${LAN.gateway4}:5000/`);
    expect(await this.website()).toBeNull();
    this.tab = await this.browser.open(page ?? "");
  }

  /** Where the person is now, and what it says before they do something. */
  async screen(selector: string, promise: string | RegExp): Promise<void> {
    await this.tab.shows(selector, promise);
    const here = `[location.protocol, location.hash, ...[...document.querySelectorAll("h1, .step:not(.later):not(:has([role=status])) h2")].map((each) => each.innerText.trim())].join(" ")`;
    this.screens.add(String(await this.tab.page.evaluate(here)));
    expect(await this.tab.wide()).toEqual([]);
  }

  /** As a person does who opens a website on the laptop. */
  website(): Promise<string | null> {
    return this.lab.fetchFrom(this.lab.namespaces.client, `http://${INTERNET.host4}/ip`);
  }

  onLaptop(...argv: string[]) {
    return this.lab.exec(this.lab.namespaces.client, argv);
  }

  /** One device: what the page says is entered in its network settings, and it is protected then. */
  async pointLaptopHere(server: string): Promise<void> {
    await this.screen(STEP(3), "The gateway gives addresses: off.");
    expect(await this.tab.text(STEP(3))).toContain("sudo portcullis setup --dhcp Copy");
    await this.tab.page.click(`${STEP(3)} label:last-child`);
    await this.screen(STEP(3), "In the network settings of the device, choose manual");
    await this.tab.shows(".verdict", "Waiting for this device Open any website in another tab.");
    expect(await this.website()).toBeNull();
    const router = /Router \(gateway\) (\S+)/.exec((await this.tab.text(STEP(3))) ?? "")?.[1] ?? "";
    expect((await this.onLaptop("ip", "route", "add", "default", "via", router)).stderr).toBe("");
    await until(async () => addresses.includes((await this.website()) ?? ""));
    await this.tab.shows(".verdict", "This device is protected");
    expect(await this.tab.text(".verdict")).toContain(server);
    expect(this.screens.size).toBeLessThanOrEqual(MAX_SCREENS);
    expect(this.tab.complaints).toEqual([]);
  }
}

describe("from the installed package to a protected device", () => {
  const walk = new Walk();
  beforeAll(() => walk.begin(), TIMEOUT_MS);
  afterAll(() => walk.end(), TIMEOUT_MS);

  story("by a provider's file", TIMEOUT_MS, (claim) => {
    claim("what the package and setup say leads to the page", () => walk.install(""));
    claim("a file gives servers", async () => {
      await walk.screen(STEP(1), /From files .* Nothing connects yet/);
      const file = readFileSync(walk.lab.sandbox.files.importConf, "utf8");
      await walk.tab.drop({ "amsterdam.conf": file });
      await walk.screen("dialog[open]", "1 server imported");
      await walk.tab.click("Continue");
    });
    claim("a place is connected to", async () => {
      await walk.screen(STEP(2), "The gateway then makes a tunnel to it");
      await walk.tab.click("Connect to amsterdam");
      await walk.tab.shows(STEP(2), "Connected to amsterdam");
    });
    claim("a device is pointed here and protected", () => walk.pointLaptopHere("Amsterdam"));
  });
});

describe("the same with an account", () => {
  const walk = new Walk();
  beforeAll(() => walk.begin(), TIMEOUT_MS);
  afterAll(() => walk.end(), TIMEOUT_MS);

  /** What a provider does for its own: its servers know the device's key. */
  async function serversKnow(): Promise<void> {
    const { public_key: key, addresses: own } = JSON.parse(await walk.type("portcullis account show --json"));
    const { vpn1, vpn2 } = walk.lab.namespaces;
    const { serverInterfaces } = walk.lab.sandbox;
    for (const [name, link] of [
      [vpn1, serverInterfaces.vpn1],
      [vpn2, serverInterfaces.vpn2],
    ] as const) {
      const set = ["wg", "set", link, "peer", key, "allowed-ips", own.join(",")];
      expect((await walk.lab.exec(name, set)).stderr).toBe("");
    }
  }

  story("by an account at a provider", TIMEOUT_MS, (claim) => {
    claim("what the package and setup say leads to the page", () =>
      walk.install(` --managed-api ${walk.provider.address} --managed-list /etc/provider.json`),
    );
    claim("an account is logged in to by HTTPS", async () => {
      await walk.screen(STEP(1), /With an account .* The gateway registers itself there/);
      await walk.tab.click("Log in…");
      await walk.screen("main", "By HTTPS only What you type to log in must not be readable");
      // It leaves the page, which cannot be asked then whether it was clicked.
      await walk.tab.page.click("main a.button.primary");
      await walk.screen("main", "The gateway registers itself with your account at Mullvad.");
      await walk.tab.type("Account number", NUMBER);
      await walk.tab.press("Enter");
      await walk.tab.shows("main", "Logged in at Mullvad");
      await serversKnow();
      await walk.tab.click("Next: connect");
    });
    claim("a place is connected to", async () => {
      await walk.screen(STEP(2), "The gateway then makes a tunnel to it");
      await walk.tab.click("Connect to Sweden");
      await walk.tab.shows(STEP(2), "Connected to box-vpn-1, Gothenburg, Sweden.");
    });
    claim("a device is pointed here and protected", () => walk.pointLaptopHere("Gothenburg"));
  });
});
