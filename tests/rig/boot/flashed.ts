import { afterAll, beforeAll, expect, test } from "bun:test";
import { existsSync, renameSync, statSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { INTERNET } from "../../../src/sandbox/topology.ts";
import { randomFrom } from "../tools/random.ts";
import { until } from "../tools/until.ts";
import { flash, putOnCard } from "./flashed-image.ts";
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
  seconds,
  tunnelCarries,
} from "./stage.ts";
import { variantToTest } from "./variant.ts";

const SEEDS = Array.from({ length: variantToTest().cuts }, (_, number) => number + 1);
/** The kernel counts a processor's time in these. */
const LOOK_MS = 10;
/** As a phone and a laptop would; the certificate is the gateway's own. */
const OWNER = { name: "laptop", passphrase: "correct horse battery" };

/** Tries to reach the internet from the first moment on. */
const EAGER = {
  "systemd.extra-unit.eager.service": `[Unit]
DefaultDependencies=no
After=local-fs.target
[Service]
ExecStart=/bin/bash -c 'while :; do { echo eager >/dev/udp/${INTERNET.host4}/7; } 2>/dev/null; { echo eager >/dev/udp/${INTERNET.host6}/7; } 2>/dev/null; sleep 0.2; done'
`,
  "systemd.unit-dropin.sysinit.target": "[Unit]\nWants=eager.service\n",
};

/** The same image, whose kill switch and service do nothing. */
const WITHOUT = {
  ...EAGER,
  "systemd.unit-dropin.portcullis-killswitch.service": "[Service]\nExecStart=\nExecStart=/bin/true\n",
  "systemd.unit-dropin.portcullis.service": "[Unit]\nConditionPathExists=/nowhere\n",
};

let token = "";
/** What the emulation of the first start cost up to the page. */
let firstPage_ms = 0;

beforeAll(openStage, PATIENCE_MS);
afterAll(closeStage, PATIENCE_MS);

test(
  "without its kill switch, the same image leaks: the sniffer sees it",
  async () => {
    const sniffer = await lab.sniff();
    guest.powerOn(undefined, WITHOUT);
    await guest.until("a packet outside", async () => (await sniffer.count()).leaks.length > 0);
    note("power-on to the first packet outside, without the kill switch", seconds(guest.age));
    await guest.powerOff();
    await sniffer.stop();
  },
  PATIENCE_MS,
);

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
  "over HTTP the page leads to HTTPS, where the first browser claims the gateway, and no other one does",
  async () => {
    const http = await curl(["-o", "/dev/null", "-w", "%{redirect_url}", `http://${guest.address}/`]);
    expect(http).toBe(`${origin()}/`);
    const owner = await ask("POST", "owner/claim", OWNER);
    expect(owner).toMatchObject({ name: "laptop", owner: true });
    token = owner.token;
    expect(await ask("POST", "owner/claim", { ...OWNER, name: "phone" })).toMatchObject({
      error: expect.stringContaining("a browser can claim this gateway once"),
    });
    expect(await ask("GET", "owner/claim")).toEqual({ claim: "over" });
  },
  PATIENCE_MS,
);

test(
  "the owner adds a tunnel, and a device of the LAN is protected by it",
  async () => {
    const sniffer = await lab.sniff();
    const [{ customBody }] = lab.sandbox.servers;
    expect(await ask("POST", "custom/add", customBody)).toEqual({ success: true });
    expect(await ask("POST", "provider/custom", {})).toMatchObject({ success: true });
    await guest.until("the tunnel", async () =>
      Bun.deepEquals(await ask("POST", "connect", { server: customBody.name }), { success: true }),
    );
    note("power-on to a protected device, with a tunnel that was just typed", seconds(await tunnelCarries()));
    expect(await clean(sniffer)).toEqual([]);
  },
  PATIENCE_MS,
);

test(
  "a key on the card opens the gateway by SSH; it runs as it was set up, on all of the card, and asks for no password",
  async () => {
    await loggedIn();
    expect(await guest.shell("portcullis killswitch status")).toContain("The kill switch is in place");
    expect(await guest.shell("systemctl --failed --no-legend --plain")).toBe("");
    const mib = Number(await guest.shell("df -m --output=size / | tail -1"));
    expect(mib).toBeGreaterThan(1_500);
    expect(await guest.shell("awk -F: '$2 !~ /^[!*]/' /etc/shadow")).toBe("");
    expect(await guest.shell("swapon --show=NAME --noheadings")).toBe("/dev/zram0\n");
    expect(await guest.shell("ls -A /var/log/journal 2>/dev/null || true")).toBe("");
    expect(await guest.shell("getent ahostsv4 internet.test")).toContain(INTERNET.host4);
    const port = "ss -Hlnt '( sport = :22 )' | wc -l";
    expect(Number(await guest.shell(port))).toBeGreaterThan(0);
    note("memory in use", await guest.shell("free -m | awk '/^Mem/ { print $3 \" MiB\" }'"));
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
    // Nothing was written between two moments: the start after both is the same.
    if (!existsSync(cardAfter(seed))) return;
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

/** Turns on a card that was just written. */
async function firstStart(): Promise<void> {
  await guest.powerOff();
  await flash(image);
  guest.powerOn(undefined, EAGER);
}

/** Returns once the page can be claimed; the milliseconds since power came on. */
function claimable(): Promise<number> {
  return guest.until("the page", async () => {
    const answer = await curl([`${origin()}/api/owner/claim`]);
    return answer === '{"claim":"open"}';
  });
}

function origin(): string {
  return `https://${guest.address}`;
}

// biome-ignore lint/suspicious/noExplicitAny: the test's expectations say what is in it.
async function ask(method: string, path: string, body?: object): Promise<any> {
  const headers = token === "" ? [] : ["-H", `authorization: Bearer ${token}`];
  const data = ["-H", "content-type: application/json", "--data-binary", JSON.stringify(body)];
  return JSON.parse(
    await curl(["-X", method, ...headers, ...(body === undefined ? [] : data), `${origin()}/api/${path}`]),
  );
}

/** From a device of the LAN. */
async function curl(argv: string[]): Promise<string> {
  return (await lab.exec(lab.namespaces.client, ["curl", "-sk", "-m", "60", ...argv])).stdout;
}
