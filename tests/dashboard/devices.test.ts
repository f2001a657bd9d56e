import { afterAll, beforeAll, beforeEach, expect, setDefaultTimeout, test } from "bun:test";
import type { Device } from "../../src/devices/schema.ts";
import { INTERNET } from "../../src/sandbox/topology.ts";
import { long } from "../fast.ts";
import type { Look, Tab } from "../rig/dashboard/browser.ts";
import { bringDevices } from "../rig/dashboard/devices.ts";
import { type Rig, startRig, TIMEOUT_MS } from "../rig/dashboard/rig.ts";
import { until } from "../rig/tools/until.ts";

const further = long("beyond the main paths of the view");

setDefaultTimeout(TIMEOUT_MS);

const TV = "/api/devices/02:00:00:00:00:20";
const CAMERA_PATH = "/api/devices/02:00:00:00:00:30";
const DIALOG = "dialog[open]";
/** As many devices as a large home may have, besides its computers. */
const MANY = 250;
/** A person notices a longer pause. */
const AT_ONCE_MS = 100;
const PHONE: Look = { width: 360, scheme: "light" };

let rig: Rig;
let tab: Tab;
let other: Tab;

beforeAll(async () => {
  rig = await startRig();
  await rig.gateway.api("POST", "/api/connect", { server: "box-vpn-1" });
  await rig.gateway.api("PUT", "/api/tunnels/amsterdam", { provider: "managed", server: "box-vpn-2" });
  const [laptop, tv] = rig.lab.sandbox.computers;
  for (const [name, device] of [
    ["Laptop", laptop],
    ["TV", tv],
  ] as const)
    await rig.gateway.api("PUT", `/api/devices/${device?.mac}`, { name });
  await rig.gateway.keep();
}, TIMEOUT_MS);
beforeEach(async () => {
  await ip("neigh flush dev lan0 to fd77::1:0/112");
  await rig.reset();
  // A device that is heard again moves to another list of the page, and what its row had said is gone.
  await rig.gateway.hearsHome();
  tab = await rig.browser.open(`${rig.url}#/devices`);
  other = await rig.browser.open(`${rig.url}#/devices`);
}, TIMEOUT_MS);
afterAll(() => rig?.close(), TIMEOUT_MS);

const ip = (words: string, stdin?: string) =>
  rig.lab.outside(["ip", "-n", rig.lab.namespaces.gateway, ...words.split(" ")], stdin);
const list = async () => (await rig.gateway.api("GET", "/api/devices")).body;
const exitOf = async (name: string) =>
  (await list()).devices.find((each: Device) => each.name === name)?.exit;
/** How long each pause lasts, by its name. */
async function pausedMinutes(): Promise<Record<string, number>> {
  const { schedules } = (await rig.gateway.api("GET", "/api/schedules")).body;
  return Object.fromEntries(
    schedules.map(({ name, once }: { name: string; once: Record<"began_at" | "ends_at", string> }) => [
      name,
      (Date.parse(once.ends_at) - Date.parse(once.began_at)) / 60_000,
    ]),
  );
}
const ofTv = async () => (await list()).devices.find(({ name }: Device) => name === "TV");
/** The row of a device, found by the label of its choice. */
const row = (name: string) => `.device:has([aria-label="Exit of ${name}"])`;
const CAMERA = row("192.168.77.30");

test("a row says who it is, whose page it is, that it is new, what it carries, and by which tunnel to where it leaves", async () => {
  await tab.shows(row("Laptop"), "Laptop This device 192.168.77.10");
  await tab.shows(row("192.168.77.30"), "192.168.77.30 New");
  const traffic = await rig.lab.traffic(rig.lab.namespaces.client, { kinds: ["udp"] });
  await tab.shows(row("Laptop"), /receives [1-9][\d.]* [kM]?bit\/s sends [1-9][\d.]* [kM]?bit\/s/);
  await tab.shows(`${CAMERA} .device-activity`, /^$/);
  await traffic.stop();
  await tab.showsChosen("Exit of Laptop", "default: Gothenburg, Sweden");
  await tab.shows("main", "The exit “direct” It is not offered: ");
  await tab.click("Change…");
  await tab.shows("main", "sudo portcullis direct on");
  expect(await tab.barriers()).toEqual([]);
});

test("a choice moves the device, which then leaves there, and the other browser sees it", async () => {
  await tab.choose("Exit of TV", "amsterdam · Amsterdam, Netherlands");
  await until(async () => (await exitOf("TV")) === "amsterdam");
  await other.showsChosen("Exit of TV", "amsterdam · Amsterdam, Netherlands");
  const [, tv] = rig.lab.sandbox.computers;
  const page = () => rig.lab.fetchFrom(tv?.namespace ?? "", `http://${INTERNET.host4}/`);
  await until(async () => (await page())?.includes("203.0.113.12") === true);

  await other.choose("Exit of TV", "blocked · no internet");
  await tab.showsChosen("Exit of TV", "blocked · no internet");
  await tab.shows(row("TV"), "TV 192.168.77.20");
  expect(await tab.barriers()).toEqual([]);
});

further.test(
  "several devices are paused or get one exit at once, and what could not be changed is named",
  async () => {
    await manyDevices(8);
    await tab.page.reload();
    await tab.click("Choose several");
    await tab.shows(".chosen-bar", "Choose devices");
    for (const name of ["Laptop", "TV"]) await tick(`Choose ${name}`);
    await tab.shows(".chosen-bar", "2 devices chosen");
    expect(await tab.barriers()).toEqual([]);
    await tab.choose("2 devices chosen", "Pause for 60 minutes");
    await tab.click("Pause them");
    await tab.shows(".chosen-bar", "2 devices are paused.");
    expect(await pausedMinutes()).toEqual({ "pause 02:00:00:00:00:10": 60, "pause 02:00:00:00:00:20": 60 });
    for (const { name } of (await rig.gateway.api("GET", "/api/schedules")).body.schedules)
      await rig.gateway.api("DELETE", `/api/schedules/${encodeURIComponent(name)}`);
    await tab.choose("2 devices chosen", "amsterdam · Amsterdam, Netherlands");
    await tab.click("Give them this exit");
    await tab.shows(".chosen-bar", "2 devices now have this exit: amsterdam · Amsterdam, Netherlands.");
    expect([await exitOf("Laptop"), await exitOf("TV")]).toEqual(["amsterdam", "amsterdam"]);
    // Another one removes the tunnel meanwhile.
    await tab.choose("2 devices chosen", "blocked · no internet");
    await tab.page.evaluate(REFUSES_TV);
    await tab.click("Give them this exit");
    await tab.shows(
      ".chosen-bar .failed",
      /1 device now has this exit: blocked · no internet\. Not TV: .*refused/,
    );
    expect([await exitOf("Laptop"), await exitOf("TV")]).toEqual(["blocked", "amsterdam"]);
    await tab.click("Close");
    expect(await tab.text(".device-check")).toBeNull();
  },
);

further.test("keys that choose one exit after another move the device once, to the last", async () => {
  await rig.gateway.api("PUT", TV, { exit: "blocked" });
  await tab.showsChosen("Exit of TV", "blocked · no internet");
  await tab.choose("Exit of TV", "amsterdam · Amsterdam, Netherlands");
  await tab.choose("Exit of TV", "blocked · no internet");
  await tab.choose("Exit of TV", "default: Gothenburg, Sweden");
  await until(async () => (await exitOf("TV")) === "main");
  await other.showsChosen("Exit of TV", "default: Gothenburg, Sweden");
  await tab.showsChosen("Exit of TV", "default: Gothenburg, Sweden");
  await tab.shows(`${row("TV")} .outcome`, /^$/);
});

test("a device whose tunnel is down is marked as blocked, with the reason", async () => {
  await rig.gateway.api("PUT", TV, { exit: "amsterdam" });
  await rig.gateway.api("POST", "/api/tunnels/amsterdam/disconnect");
  await tab.shows(row("TV"), "Blocked: the tunnel amsterdam is disconnected.");
  expect(await tab.barriers()).toEqual([]);
});

further.test(
  "a device with several exits shows them and the one in force, and gets one exit only after a question",
  async () => {
    const order = ["amsterdam", "main", "blocked"];
    await rig.gateway.api("PUT", TV, { exit: order });
    await tab.showsChosen("Exit of TV", "in order: amsterdam, main and blocked");
    await tab.shows(row("TV"), "Now: amsterdam · Amsterdam, Netherlands");
    expect(await tab.barriers()).toEqual([]);
    await rig.gateway.api("POST", "/api/tunnels/amsterdam/disconnect");
    await tab.shows(row("TV"), "Now: main · Gothenburg, Sweden");
    await tab.choose("Exit of TV", "blocked · no internet");
    await tab.shows(DIALOG, "TV has several exits in order: amsterdam, main and blocked.");
    await tab.press("Escape");
    await tab.showsChosen("Exit of TV", "in order: amsterdam, main and blocked");
    expect(await ofTv()).toMatchObject({ exit: "main", exit_order: order });
    await tab.choose("Exit of TV", "blocked · no internet");
    await tab.shows(DIALOG, "If you go on, it is blocked.");
    await tab.click("Replace the order");
    await until(async () => (await exitOf("TV")) === "blocked");
    expect(await ofTv()).not.toHaveProperty("exit_order");
  },
);

further.test(
  "exits in order are chosen by keyboard, and everything that changes is said before they are saved",
  async () => {
    const changes = `${DIALOG} .changes`;
    await tab.choose("Exit of TV", "several in order…");
    await tab.shows(DIALOG, "Exits of TV in order");
    await tab.shows(changes, "through no other: main and amsterdam. If none of them is up, it is blocked.");
    await tab.shows(changes, "It then has these instead of the default exit. It stays with main now");
    expect(await tab.barriers()).toEqual([]);
    await tab.focus("Move amsterdam up");
    await tab.press("Enter");
    await tab.focuses("Move amsterdam up");
    await tab.shows(changes, "through no other: amsterdam and main.");
    await tab.shows(changes, "It goes through amsterdam at once, and its connections are reset.");
    await tab.click("Add an exit");
    await tab.focuses("Exit 3");
    await tab.shows(
      changes,
      "it is blocked, and rules for destinations that are for all devices do not hold",
    );
    expect(await tab.misfits([320, 360])).toEqual([]);
    await tab.page.evaluate(`document.documentElement.style.fontSize = ""`);
    await tab.click("Save the order");
    await other.showsChosen("Exit of TV", "in order: amsterdam, main and blocked");
    await tab.loses(DIALOG);
    await tab.shows(row("TV"), "Now: amsterdam · Amsterdam, Netherlands");
    expect(await ofTv()).toMatchObject({ exit: "amsterdam", exit_order: ["amsterdam", "main", "blocked"] });

    await other.choose("Exit of TV", "another order…");
    await other.click("Remove blocked");
    await other.focuses("Exit 2");
    await other.click("Move main up");
    await other.shows(changes, "This replaces its present order: amsterdam, main and blocked.");
    await other.press("Escape");
    await other.showsChosen("Exit of TV", "in order: amsterdam, main and blocked");
    expect(await ofTv()).toMatchObject({ exit_order: ["amsterdam", "main", "blocked"] });
  },
);

further.test(
  "the form of a device's exits stays open when the device comes online, and its row moves once it is left",
  async () => {
    const [, tv] = rig.lab.sandbox.computers;
    const listOn = (on: Tab) =>
      on.page.evaluate(
        `document.querySelector('[aria-label="Exit of TV"]')?.closest("section").querySelector("h2").textContent`,
      );
    const isIn = (on: Tab, title: string) =>
      until(async () => `${await listOn(on)}`.startsWith(title)).catch(async () => {
        throw new Error(`The TV is not in the list ${title}, but in ${await listOn(on)}`);
      });
    await rig.gateway.kill("SIGTERM");
    await ip("neigh flush dev lan0");
    await rig.gateway.start();
    await isIn(tab, "Not online");
    await tab.choose("Exit of TV", "several in order…");
    await tab.shows(DIALOG, "Exits of TV in order");
    await tab.click("Add an exit");
    await tab.focuses("Exit 3");
    await rig.lab.fetchFrom(tv?.namespace ?? "", `http://${INTERNET.host4}/`);
    await isIn(other, "Online");
    await tab.shows(DIALOG, "Exits of TV in order");
    await tab.click("Save the order");
    await until(async () => (await ofTv()).exit_order?.length === 3);
    await tab.loses(DIALOG);
    await tab.focus("Edit Laptop");
    await isIn(tab, "Online");
  },
);

further.test(
  "an exit whose tunnel is removed while someone puts exits in order is told at its field",
  async () => {
    await tab.choose("Exit of TV", "several in order…");
    await tab.shows(`${DIALOG} .changes`, "through no other: main and amsterdam.");
    expect((await rig.gateway.api("DELETE", "/api/tunnels/amsterdam")).status).toBe(200);
    const offered = `document.querySelector('[aria-label="Exit of Laptop"]').textContent`;
    await until(async () => !`${await tab.page.evaluate(offered)}`.includes("amsterdam"));
    await tab.click("Save the order");
    await tab.shows(`${DIALOG} .ordered-row:nth-child(2) .failed`, "This tunnel was removed.");
    await tab.focuses("Exit 2");
    expect(await tab.barriers()).toEqual([]);
    await tab.choose("Exit 2", "blocked · no internet");
    await tab.click("Save the order");
    await tab.showsChosen("Exit of TV", "in order: main and blocked");
  },
);

further.test("while the kill switch is off, no device without a tunnel is shown as blocked", async () => {
  const iconOf = (name: string) =>
    tab.page.evaluate(`document.querySelector(${JSON.stringify(`${row(name)} .icon`)})?.classList.value`);
  const turn = (to: "on" | "off") => rig.gateway.operate("killswitch", to);
  await rig.gateway.api("POST", "/api/tunnels/amsterdam/disconnect");
  await rig.gateway.api("PUT", TV, { exit: "amsterdam" });
  await rig.gateway.api("PUT", CAMERA_PATH, { exit: "blocked" });
  await tab.shows(row("TV"), "Blocked: the tunnel amsterdam is disconnected.");
  await tab.showsChosen("Exit of 192.168.77.30", "blocked · no internet");
  expect([await iconOf("TV"), await iconOf("192.168.77.30")]).toEqual(Array(2).fill("icon icon-blocked"));
  expect((await turn("off")).code).toBe(0);
  for (const name of ["TV", "192.168.77.30"]) {
    await tab.shows(row(name), "Might leave outside the tunnel: the kill switch is off.");
    expect(await iconOf(name)).toBe("icon icon-warning");
  }
  expect(await tab.chosen("Exit of 192.168.77.30")).toBe("blocked · the kill switch is off");
  expect(await iconOf("Laptop")).toBe("icon icon-shield");
  expect(await tab.barriers()).toEqual([]);
  expect((await turn("on")).code).toBe(0);
  await tab.shows(row("TV"), "Blocked: the tunnel amsterdam is disconnected.");
});

further.test("a device is renamed in its row, and forgotten only after a question", async () => {
  await tab.click("Edit 192.168.77.30");
  await tab.shows(CAMERA, "MAC address 02:00:00:00:00:30");
  const forward = "/api/forwards/02:00:00:00:00:30/tcp/554";
  await rig.gateway.api("PUT", forward, { external: 51413 });
  await tab.shows(CAMERA, "Port 554 (TCP) reached from the internet at port 51413 of the main tunnel");
  await rig.gateway.api("DELETE", forward);
  expect(await tab.barriers()).toEqual([]);
  await tab.type("Name of 192.168.77.30", "front/door");
  await tab.press("Enter");
  await tab.shows(`${CAMERA} .form .outcome.failed`, "It contains a slash.");
  await tab.type("Name of 192.168.77.30", "Front door");
  await tab.press("Enter");
  await tab.shows(row("Front door"), "Front door 192.168.77.30");
  await other.shows(row("Front door"), "Front door 192.168.77.30");
  await tab.click("Edit Front door");
  await tab.click("Forget Front door");
  await tab.shows(DIALOG, "Forget Front door? Front door loses the name and the exit that were given to it");
  expect(await tab.barriers()).toEqual([]);
  await tab.click("Cancel");
  expect(await exitOf("Front door")).toBe("main");
  await tab.click("Forget Front door");
  await tab.click("Forget");
  await tab.shows(CAMERA, "192.168.77.30 New");
  await other.shows(CAMERA, "192.168.77.30 New");
});

further.test("a device gets an icon, which stands beside its name in the other browser, too", async () => {
  await tab.click("Edit TV");
  await tab.choose("Icon of TV", "Games console");
  await tab.click("Save icon and group");
  await other.shows(`${row("TV")} .device-icon`, "Games console");
  expect((await ofTv())?.icon).toBe("console");
  expect(await tab.barriers()).toEqual([]);
  await tab.choose("Icon of TV", "No icon");
  await tab.click("Save icon and group");
  await until(async () => (await other.text(row("TV")))?.includes("Games console") === false);
  expect(await ofTv()).not.toHaveProperty("icon");
});

further.test("a device is limited in its row, which then says so, as does the other browser's", async () => {
  await tab.click("Edit TV");
  await tab.type("TV receives at most, in Mbit/s", "2.5");
  await tab.type("TV sends at most, in Mbit/s", "100000");
  await tab.click("Save the limit");
  await tab.shows(row("TV"), "It must be from 0.1 to 10000.");
  await tab.type("TV sends at most, in Mbit/s", "");
  await tab.click("Save the limit");
  await tab.shows(row("TV"), "2.5 Mbit/s down");
  await other.shows(row("TV"), "2.5 Mbit/s down");
  const { devices } = await list();
  expect(devices.find(({ name }: Device) => name === "TV")?.rate).toEqual({ down: 2.5, up: null });
  expect(await tab.barriers()).toEqual([]);
  await tab.type("TV receives at most, in Mbit/s", "");
  await tab.click("Save the limit");
  await until(async () => (await tab.text(row("TV")))?.includes("Mbit/s down") === false);

  // Its form has the other button that is called so.
  await tab.click("Close TV");
  await tab.click("Change the limit…");
  await tab.type("All others send at most, in Mbit/s", "10");
  await tab.click("Save the limit");
  await other.shows("main", "receive and send together. 10 Mbit/s up");
  expect((await list()).shared_rate).toEqual({ down: null, up: 10 });
  expect((await rig.gateway.api("PUT", "/api/shared-rate", { rate: null })).status).toBe(200);
});

further.test("a device has a quota in its row, and what happens at its end", async () => {
  const quota = async () => (await list()).devices.find(({ name }: Device) => name === "TV")?.quota;
  await tab.click("Edit TV");
  await tab.type("Quota of TV, in MB", "500");
  await tab.click("Save the quota");
  await other.shows(row("TV"), "of 500 MB today, then blocked");
  await tab.choose("The quota begins again", "each month");
  await tab.choose("At the end of the quota", "The device is slower");
  await tab.click("Save the quota");
  await tab.shows(row("TV"), "Quota: at_end: down or up is required; told for no limit.");
  await tab.type("TV then receives at most, in Mbit/s", "1.5");
  await tab.click("Save the quota");
  await other.shows(row("TV"), "of 500 MB this month, then 1.5 Mbit/s down");
  expect(await quota()).toMatchObject({ megabytes: 500, every: "month", at_end: { down: 1.5, up: null } });
  expect(await tab.barriers()).toEqual([]);
  await tab.choose("At the end of the quota", "Only an alert");
  await tab.click("Save the quota");
  await other.shows(row("TV"), "then only told");
  await tab.type("Quota of TV, in MB", "");
  await tab.click("Save the quota");
  await until(async () => (await quota()) === undefined);
  await tab.click("Close TV");

  // Its form has the other button that is called so.
  await tab.click("Change the quota…");
  await tab.type("Quota of all others, in MB", "900");
  await tab.choose("At the end of the quota", "They are slower");
  await tab.type("All others then send at most, in Mbit/s", "2");
  await tab.click("Save the quota");
  await other.shows("main", "of 900 MB today, then 2 Mbit/s up");
  expect(await tab.barriers()).toEqual([]);
  const { megabytes, at_end } = (await list()).shared_quota;
  expect([megabytes, at_end]).toEqual([900, { down: null, up: 2 }]);
  expect((await rig.gateway.api("PUT", "/api/shared-quota", { quota: null })).status).toBe(200);
});

further.test(
  "direct is offered only if the operator allows it, asks first, and is marked plainly",
  async () => {
    const options = () =>
      tab.page.evaluate(
        `[...document.querySelector('[aria-label="Exit of TV"]').options].map((each) => each.value)`,
      );
    await tab.shows(row("TV"), "TV");
    expect(await options()).not.toContain("direct");
    expect((await rig.gateway.operate("direct", "on")).code).toBe(0);
    await tab.click("Change…");
    await tab.shows("main", "sudo portcullis direct off");
    await tab.choose("Exit of TV", "direct · outside every tunnel");
    await tab.shows(DIALOG, "Let TV leave outside every tunnel?");
    expect(await tab.barriers()).toEqual([]);
    await tab.click("Cancel");
    await tab.showsChosen("Exit of TV", "default: Gothenburg, Sweden");
    expect(await exitOf("TV")).toBe("main");
    await tab.choose("Exit of TV", "direct · outside every tunnel");
    await tab.click("Let it leave directly");
    await tab.shows(row("TV"), "TV Outside every tunnel");
    expect(await exitOf("TV")).toBe("direct");
    expect(await tab.barriers()).toEqual([]);
  },
);

further.test(
  "a choice that the gateway refuses shows why, and the exit that the device still has",
  async () => {
    await tab.showsChosen("Exit of TV", "default: Gothenburg, Sweden");
    // A page may still offer it: no event says that it is not allowed any more.
    await tab.page.evaluate(`(() => {
      const choice = document.querySelector('[aria-label="Exit of TV"]');
      choice.add(new Option("direct · outside every tunnel", "direct"));
    })()`);
    await tab.choose("Exit of TV", "direct · outside every tunnel");
    await tab.click("Let it leave directly");
    await tab.shows(`${row("TV")} .outcome.failed`, "Exit: no device may leave directly");
    expect(await tab.chosen("Exit of TV")).toStartWith("default: ");
    expect(await tab.barriers()).toEqual([]);
  },
);

further.test("blocking by default asks first, and says whom it blocks", async () => {
  await rig.gateway.api("PUT", TV, { exit: "main" });
  await tab.showsChosen("Exit of TV", "main · Gothenburg, Sweden");
  await tab.choose("Default exit", "blocked · no internet");
  await tab.shows(DIALOG, "Laptop and 192.168.77.30, and each new device, will have no internet");
  expect(await tab.barriers()).toEqual([]);
  await tab.click("Block them");
  await until(async () => (await list()).default_exit === "blocked");
  await other.showsChosen("Exit of Laptop", "default: blocked · no internet");
  await tab.choose("Default exit", "main · Gothenburg, Sweden");
  await until(async () => (await list()).default_exit === "main");
});

further.test("a network behind another router is added by form, and says which route it lacks", async () => {
  await tab.click("Add a network");
  expect(await tab.barriers()).toEqual([]);
  await tab.type("Prefix", "192.168.77.0/25");
  await tab.type("Name", "Office");
  await tab.click("Add the network");
  await tab.shows(".networks .outcome.failed", "192.168.77.0/25 overlaps");
  await tab.type("Prefix", "10.8.0.0/24");
  await tab.choose("Exit", "amsterdam · Amsterdam, Netherlands");
  await tab.click("Add the network");
  await tab.shows(row("Office"), "Office 10.8.0.0/24");
  await other.shows(".networks", "sudo ip route add 10.8.0.0/24 via");
  expect(await exitOf("Office")).toBe("amsterdam");
  expect(await tab.barriers()).toEqual([]);
});

further.test(
  "among 250 devices a search answers at once, and a change costs no more than a moment",
  async () => {
    await manyDevices(MANY);
    const processorMs = await tab.processorClock();
    const costs: number[] = [];
    for (const text of ["1:2b", "1:2c", "1:2a"]) {
      const before = await processorMs();
      await tab.page.evaluate(searchFor(text));
      costs.push((await processorMs()) - before);
    }
    // The page draws what the gateway tells, too, and other programs slow the processor down.
    const ms = Math.min(...costs);
    expect(ms).toBeGreaterThan(1);
    expect(ms).toBeLessThan(AT_ONCE_MS);
    await tab.shows(".device", "fd77::1:2a");
    expect(await tab.barriers()).toEqual([]);
    await tab.type("Search by name, address or exit", "nothing like it");
    await tab.shows("main", "No device matches.");
    // Afresh: of rows that are out of sight, Chromium keeps the height that they had in a wide window.
    await tab.wear(PHONE);
    await tab.page.reload();
    await tab.page.waitForSelector(".chip:nth-child(2)");
    await tab.page.click(".chip:nth-child(2)");
    await tab.shows(".chip[aria-pressed=true]", /^New 25\d$/);
    expect(await tab.barriers([PHONE])).toEqual([]);
  },
);

/** That many devices besides its computers. */
async function manyDevices(count: number): Promise<void> {
  await bringDevices(rig, count + rig.lab.sandbox.computers.length);
  await until(
    async () => Number(await tab.page.evaluate(`document.querySelectorAll(".device").length`)) > count,
  );
}

/** Chooses a device, or not any more. */
const tick = (name: string) =>
  tab.page.evaluate(
    `[...document.querySelectorAll(".device-check")].find((each) => each.innerText.trim() === ${JSON.stringify(name)}).click()`,
  );

/** As a gateway refuses a change of the TV. */
const REFUSES_TV = `{
  const real = fetch;
  window.fetch = (path, init) =>
    init?.method === "PUT" && decodeURIComponent(path).endsWith("02:00:00:00:00:20")
      ? Promise.resolve(Response.json({ error: "exit: it is refused" }, { status: 400 }))
      : real(path, init);
}`;

/** Types into the search, and waits for the picture. */
const searchFor = (text: string) => `new Promise((resolve) => {
  const field = document.querySelector("input[type=search]");
  field.value = ${JSON.stringify(text)};
  field.dispatchEvent(new Event("input", { bubbles: true }));
  requestAnimationFrame(() => setTimeout(resolve));
})`;
