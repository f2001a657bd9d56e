import { afterAll, beforeAll, expect, test } from "bun:test";
import { renameSync, statSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { CLAIM_MINUTES } from "../../../src/access/claim.ts";
import { INTERNET } from "../../../src/sandbox/topology.ts";
import { Browser } from "../dashboard/browser.ts";
import { randomFrom } from "../tools/random.ts";
import { until } from "../tools/until.ts";
import { flash, putOnCard } from "./flashed-image.ts";
import {
  ask,
  claim,
  claimable,
  EAGER,
  firstStart,
  isOver,
  leaksWithout,
  OWNER,
  origin,
  owner,
} from "./flashed-page.ts";
import {
  clean,
  closeStage,
  guest,
  healthy,
  image,
  lab,
  loggedIn,
  note,
  openStage,
  PATIENCE_MS,
  page,
  seconds,
  tunnelCarries,
} from "./stage.ts";
import { variantToTest } from "./variant.ts";

const { contained, cuts } = variantToTest();
const SEEDS = Array.from({ length: cuts }, (_, number) => number + 1);
/** Finer moments would have the machine looked at more than it works. */
const LOOK_MS = 50;
/** The device of the LAN that all is sent from. */
const LAPTOP = "02:00:00:00:00:10";
/** Between power-on and a protected device. */
const MAX_SCREENS = 4;
/** Where the person is: the page's heading, and the dialog in front of it. */
const SCREEN = `[...document.querySelectorAll("h1, dialog[open] h2")].map((each) => each.innerText.trim()).join(": ")`;

let browser: Browser;
/** What the emulation of the first start cost up to the page. */
let firstPage_ms = 0;
/** For each seed, whether its moment has left another card than the moments before. */
const cards = new Map<number, boolean>();

beforeAll(async () => {
  await openStage();
  browser = await Browser.start(lab.namespaces.client);
}, PATIENCE_MS);
afterAll(async () => {
  await browser?.close();
  await closeStage();
}, PATIENCE_MS);

test("without its kill switch, the same image leaks: the sniffer sees it", leaksWithout, PATIENCE_MS);

test(
  "from power-on nothing leaves, and the page of a first start can be claimed",
  async () => {
    const sniffer = await lab.sniff();
    await firstStart();
    note("power-on to the API, first start", seconds(await healthy()));
    note("power-on to the page, first start", seconds(await claimable()));
    firstPage_ms = guest.work;
    expect(await clean(sniffer)).toEqual([]);
  },
  PATIENCE_MS,
);

test(
  "from the address over HTTP, a browser claims the gateway over HTTPS, and in four screens a device is protected",
  async () => {
    const sniffer = await lab.sniff();
    const [box] = lab.sandbox.servers;
    const tab = await browser.open(`http://${guest.address}/`);
    const screens = new Set<string>();
    const at = async () => {
      const screen = String(await tab.page.evaluate(SCREEN));
      screens.add(screen);
      note(`power-on to the screen: ${screen}`, seconds(guest.age));
    };
    await tab.shows("h1", "Welcome");
    await at();
    expect(tab.page.url()).toStartWith(`${origin()}/`);
    await tab.type("Name of this browser", OWNER.name);
    await tab.type("New passphrase", OWNER.passphrase);
    await tab.type("Once more", OWNER.passphrase);
    await tab.click("Claim this gateway");
    await tab.shows("h1", "Set up the gateway");
    await at();
    await tab.drop({ "box.conf": box.importText });
    await tab.shows("dialog[open]", "1 server imported.");
    await at();
    await tab.click("Continue");
    await tab.click("Connect to box");
    await tab.shows(".step:nth-child(2)", "Connected to box.");
    await at();
    await tunnelCarries();
    await tab.shows(".verdict", "This device is protected");
    await at();
    note("power-on to a protected device, by the page", seconds(guest.age));
    expect(screens.size).toBeLessThanOrEqual(MAX_SCREENS);
    owner.token =
      String(await tab.page.evaluate(`JSON.stringify([{ ...localStorage }, { ...sessionStorage }])`)).match(
        /portcullis_[0-9a-z]{26}/,
      )?.[0] ?? "";
    expect(await ask("GET", "access")).toMatchObject({ token: { name: OWNER.name, owner: true } });
    expect(await clean(sniffer)).toEqual([]);
  },
  PATIENCE_MS,
);

test("no other browser claims it then", isOver, PATIENCE_MS);

test(
  "a key on the card opens the gateway by SSH; it runs as it was set up, on all of the card, and asks for no password",
  async () => {
    await loggedIn();
    expect(await guest.shell("portcullis killswitch status")).toContain("The kill switch is in place");
    // In a container the file system may grow at the next start only.
    const failed = (await guest.shell("systemctl --failed --no-legend --plain")).split("\n");
    expect(failed.filter((line) => !(contained && line.startsWith("portcullis-room.service ")))).toEqual([
      "",
    ]);
    const mib = Number(await guest.shell("df -m --output=size / | tail -1"));
    if (!contained) expect(mib).toBeGreaterThan(1_500);
    expect(await guest.shell("awk -F: '$2 !~ /^[!*]/' /etc/shadow")).toBe("");
    if (!contained) expect(await guest.shell("swapon --show=NAME --noheadings")).toBe("/dev/zram0\n");
    expect(await guest.shell("ls -A /var/log/journal 2>/dev/null || true")).toBe("");
    expect(await guest.shell("getent ahostsv4 internet.test")).toContain(INTERNET.host4);
    const port = "ss -Hlnt '( sport = :22 )' | wc -l";
    expect(Number(await guest.shell(port))).toBeGreaterThan(0);
    if (!contained) note("memory in use", await guest.shell("free -m | awk '/^Mem/ { print $3 \" MiB\" }'"));
  },
  PATIENCE_MS,
);

test(
  "a restart leaks nothing and brings the tunnel back; with a file on the card the gateway can be claimed again",
  async () => {
    const sniffer = await lab.sniff();
    await guest.shell("sync");
    await guest.powerOff();
    const empty = join(image.folder, "claim");
    writeFileSync(empty, "");
    await putOnCard(image, empty, "claim");
    guest.powerOn(undefined, EAGER);
    note("power-on to the page, later", seconds(await healthy()));
    note("power-on to the internet for the LAN, later", seconds(await tunnelCarries()));
    expect(await claimable()).toBeGreaterThan(0);
    expect(await ask("POST", "owner/claim", { ...OWNER, name: "phone" })).toMatchObject({ owner: true });
    expect(await ask("GET", "access")).toMatchObject({ token: { name: "laptop", owner: true } });
    await loggedIn();
    expect(await guest.shell("ls /boot/firmware")).not.toContain("claim");
    expect(await clean(sniffer)).toEqual([]);
  },
  PATIENCE_MS,
);

test.if(contained)(
  "a cable that is pulled and comes back leaks nothing, and the tunnel carries again",
  async () => {
    const sniffer = await lab.sniff();
    await guest.pull();
    expect(await page()).toBe("");
    await guest.plug();
    note("cable to the internet for the LAN", seconds(await took(tunnelCarries)));
    expect(await clean(sniffer)).toEqual([]);
  },
  PATIENCE_MS,
);

test(
  "with a full card the tunnel stays, what blocks takes effect and opens nothing, and a power cut leaves a gateway that starts",
  async () => {
    const sniffer = await lab.sniff();
    await guest.ssh("cat /dev/zero >/fill");
    expect(await guest.shell("df --output=avail / | tail -1 | tr -d ' '")).toBe("0\n");
    expect(await page()).not.toBe("");
    await ask("PUT", `devices/${LAPTOP}`, { exit: "blocked" });
    expect(await page()).toBe("");
    await guest.powerOff();
    guest.powerOn(undefined, EAGER);
    note("power-on to the page, with a full card", seconds(await healthy()));
    await loggedIn();
    expect(await guest.shell("portcullis killswitch status")).toContain("The kill switch is in place");
    await guest.shell("rm /fill; sync");
    await ask("PUT", `devices/${LAPTOP}`, { exit: "main" });
    note("power-on to the internet for the LAN, with a full card", seconds(await tunnelCarries()));
    expect(await clean(sniffer)).toEqual([]);
  },
  PATIENCE_MS,
);

test(
  "ten minutes after power-on nobody can claim the gateway any more: a second browser is told how, also after a restart",
  async () => {
    const sniffer = await lab.sniff();
    await guest.powerOff();
    await flash(image);
    guest.powerOn(undefined, EAGER, CLAIM_MINUTES - 3);
    await claimable();
    await guest.until("the end of the claim", async () => (await claim()) === "over");
    await isOver();
    const tab = await browser.open(`${origin()}/`);
    await tab.shows("main", "its first ten minutes are over");
    await guest.powerOff();
    guest.powerOn(undefined, EAGER);
    await healthy();
    await guest.until("the page", async () => (await claim()) !== "");
    await isOver();
    expect(await clean(sniffer)).toEqual([]);
  },
  PATIENCE_MS,
);

test(
  "a first start leaks nothing up to each moment at which the power will be cut, when the card is copied",
  async () => {
    if (firstPage_ms === 0) {
      await firstStart();
      await claimable();
      firstPage_ms = guest.work;
    }
    const moments = SEEDS.map((seed) => ({ seed, at_ms: randomFrom(seed)() * firstPage_ms }));
    const sniffer = await lab.sniff();
    await firstStart();
    const written = new Map([[guest.writtenAt, "as flashed"]]);
    for (const { seed, at_ms } of moments.sort((one, other) => one.at_ms - other.at_ms)) {
      await until(async () => guest.work >= at_ms, PATIENCE_MS, LOOK_MS);
      const same = written.get(guest.writtenAt);
      cards.set(seed, same === undefined);
      note(`power cut of seed ${seed}, of ${seconds(firstPage_ms)} of work`, same ?? seconds(guest.work));
      if (same !== undefined) continue;
      await guest.keepDisk(cardAfter(seed));
      written.set(statSync(cardAfter(seed)).mtimeMs, `as of seed ${seed}`);
    }
    await claimable();
    expect(await clean(sniffer)).toEqual([]);
  },
  PATIENCE_MS,
);

test.each(SEEDS)(
  "a power cut at any moment of the first start leaks nothing, and the gateway can still be claimed (seed %d)",
  async (seed) => {
    expect(cards.has(seed)).toBe(true);
    // Nothing was written between two moments: the start after both is the same.
    if (!cards.get(seed)) return;
    await guest.powerOff();
    renameSync(cardAfter(seed), image.disk);
    const sniffer = await lab.sniff();
    guest.powerOn(undefined, EAGER);
    note(`power-on to the page, after a power cut (seed ${seed})`, seconds(await claimable()));
    expect(await clean(sniffer)).toEqual([]);
  },
  PATIENCE_MS,
);

/** Where the card is kept as the power cut of a seed leaves it. */
function cardAfter(seed: number): string {
  return join(image.folder, `cut-${seed}`);
}

async function took(work: () => Promise<unknown>): Promise<number> {
  const begun = performance.now();
  await work();
  return performance.now() - begun;
}
