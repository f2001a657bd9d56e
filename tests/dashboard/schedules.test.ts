import { afterAll, beforeAll, beforeEach, expect, setDefaultTimeout } from "bun:test";
import { long } from "../fast.ts";
import type { Tab } from "../rig/dashboard/browser.ts";
import { type Rig, startRig, TIMEOUT_MS } from "../rig/dashboard/rig.ts";

const { test } = long("each view of the page");

setDefaultTimeout(TIMEOUT_MS);

const TV = "02:00:00:00:00:20";
const DIALOG = "dialog[open]";
const FIRST = ".item:first-child";
const SECOND = ".item:nth-child(2)";
const ADD = "Add a schedule…";
const DAYS = ["Monday", "Tuesday", "Wednesday", "Thursday", "Friday", "Saturday", "Sunday"];
const TODAY = (new Date().getDay() + 6) % 7;
/** Neither today nor a day beside it, so that it is not in force now. */
const FILM_DAYS = DAYS.filter((_, day) => ((day - TODAY + 7) % 7) % 6 > 1).slice(0, 2);
const FILM = {
  ...{ device: TV, exit: "amsterdam", at: "20:00", until: "00:30" },
  days: FILM_DAYS.map((day) => day.slice(0, 3).toLowerCase()),
};
const OFTEN = { tunnel: "main", every_hours: 6 };

let rig: Rig;
let tab: Tab;
let other: Tab;

beforeAll(async () => {
  rig = await startRig();
  await rig.gateway.api("POST", "/api/connect", { server: "box-vpn-1" });
  await rig.gateway.api("PUT", "/api/tunnels/amsterdam", { provider: "managed", server: "box-vpn-2" });
  await rig.gateway.api("PUT", `/api/devices/${TV}`, { name: "TV" });
  await rig.gateway.keep();
}, TIMEOUT_MS);
beforeEach(() => rig.reset(), TIMEOUT_MS);
afterAll(() => rig?.close(), TIMEOUT_MS);

/** Opens the view in two browsers, with these schedules. */
async function openWith(schedules: Readonly<Record<string, object>>): Promise<void> {
  for (const [name, schedule] of Object.entries(schedules))
    expect(await rig.gateway.api("PUT", `/api/schedules/${name}`, schedule)).toMatchObject({ status: 200 });
  tab = await rig.browser.open(`${rig.url}#/schedules`);
  other = await rig.browser.open(`${rig.url}#/schedules`);
}
const list = async () => (await rig.gateway.api("GET", "/api/schedules")).body;
/** Waits until the field that has the focus is said to be wrong. */
async function faulted(name: string, text: string): Promise<void> {
  await tab.shows(`${DIALOG} .field:has([name=${name}]) .failed`, text);
  await tab.focuses(name);
}

/** The time of day on the gateway's clock, hours from now. */
async function clockIn(hours: number): Promise<string> {
  const { time_zone } = await list();
  return Temporal.Now.plainTimeISO(time_zone).add({ hours }).toString({ smallestUnit: "minute" });
}

test("without a schedule, the page says what one is for", async () => {
  await openWith({});
  await tab.shows("main", "No schedule yet");
  await tab.shows("main", /Times are those of the gateway’s clock \(.+\), where it is \d\d:\d\d\./);
  expect(await tab.barriers()).toEqual([]);
});

test("a device's other exit is added by form; what is wrong is said at the field, which has the focus", async () => {
  await openWith({});
  await tab.click(ADD);
  await tab.shows(DIALOG, "Add a schedule");
  await tab.focuses("name");
  expect(await tab.barriers()).toEqual([]);
  await tab.click("Save the schedule");
  await faulted("name", "It is required.");
  expect(await tab.barriers()).toEqual([]);
  await tab.type("Name", "film/night");
  await tab.press("Enter");
  await faulted("name", "It cannot be part of an address; leave out slashes.");
  await tab.type("Name", "film");
  await tab.choose("Device", "TV");
  await tab.choose("Exit", "amsterdam · Amsterdam, Netherlands");
  await tab.press("Enter");
  await faulted("at", "It is required.");
  await tab.set("From", "20:00");
  await tab.set("Until", "20:00");
  await tab.click("Save the schedule");
  await faulted("until", "It must differ from the first time.");
  await tab.set("Until", "00:30");
  for (const day of DAYS) await tab.page.click(`[aria-label=${day}]`);
  await tab.click("Save the schedule");
  await faulted("days", "Choose at least one.");
  expect(await tab.barriers()).toEqual([]);
  for (const day of FILM_DAYS.toReversed()) await tab.page.click(`[aria-label=${day}]`);
  await tab.click("Save the schedule");
  const days = FILM_DAYS.join(" and ");
  const sentence = `film TV goes through amsterdam from 20:00 to 00:30 the next day, on ${days}. Next: `;
  await tab.shows(FIRST, sentence);
  await tab.shows("main", "The schedule film is saved.");
  await tab.focuses(ADD);
  await other.shows(FIRST, sentence);
  expect((await list()).schedules).toMatchObject([{ name: "film", ...FILM }]);
});

test("what comes once is a schedule of the form, too, and its list says until when", async () => {
  await openWith({});
  await tab.click(ADD);
  await tab.type("Name", "homework");
  await tab.choose("Device", "TV");
  await tab.choose("Exit", "blocked · no internet");
  await tab.choose("When", "Once: from now on, for some minutes");
  expect(await tab.barriers()).toEqual([]);
  await tab.type("For … minutes", "45");
  await tab.click("Save the schedule");
  await tab.shows(FIRST, "homework Now TV is blocked once. In force until ");
  expect((await list()).schedules).toMatchObject([
    { name: "homework", device: TV, exit: "blocked", once: {} },
  ]);
});

/** Enters the name of a schedule of a tunnel's moves, into the dialog that a key has opened. */
async function begins(name: string): Promise<void> {
  await tab.shows(DIALOG, "Add a schedule");
  await tab.focuses("name");
  await tab.page.keyboard.type(name);
  await tab.choose("What happens", "A tunnel moves to another server");
  await tab.choose("When", "Every few hours");
}

test("a tunnel's moves are added with the keyboard alone, and a name that is taken is refused", async () => {
  await openWith({ film: FILM });
  await tab.shows(FIRST, "film");
  await tab.page.focus(".view-head .button");
  await tab.press("Enter");
  await begins("film");
  await tab.type("Every … hours", "0");
  await tab.press("Enter");
  const taken = "Another schedule has it already; choose another one.";
  await faulted("name", taken);
  await tab.type("Name", "often");
  await tab.press("Enter");
  const range = "It must be from 1 to 720.";
  await faulted("every_hours", range);
  expect(await tab.barriers()).toEqual([]);
  await tab.press("Escape");
  await tab.loses(DIALOG);
  await tab.focuses(ADD);
  await tab.press("Enter");
  await begins("often");
  await tab.type("Every … hours", "6");
  await tab.press("Enter");
  await other.shows(
    SECOND,
    "often The main tunnel moves to another server of its place every 6 hours. Next: ",
  );
  expect(await tab.barriers()).toEqual([]);
});

test("a schedule is changed by form, and from then on it is seen that it is in force, in both views", async () => {
  await openWith({ film: FILM });
  await other.page.evaluate(`location.hash = "#/devices"`);
  await tab.click("Change film");
  await tab.shows(DIALOG, "Change film");
  expect(await tab.page.evaluate(`document.querySelector("dialog [name=at]").value`)).toBe("20:00");
  const [from, to] = [await clockIn(-1), await clockIn(1)];
  await tab.set("From", from);
  await tab.set("Until", to);
  for (const day of DAYS.filter((each) => !FILM_DAYS.includes(each)))
    await tab.page.click(`[aria-label=${day}]`);
  await tab.click("Save the schedule");
  await tab.shows(FIRST, "film Now TV goes through amsterdam");
  await tab.shows(FIRST, new RegExp(`In force until (today|tomorrow) at ${to}\\.`));
  await other.shows(`.device:has([aria-label="Exit of TV"])`, `By the schedule film until`);
  expect(await tab.barriers()).toEqual([]);
  expect(await other.barriers()).toEqual([]);
  await other.choose("Exit of TV", "blocked · no internet");
  await tab.shows(FIRST, "Not in force now, although planned until");
  await tab.shows(FIRST, ": TV was given another exit.");
});

test("a device's other limit is added by form, and its row says until when it holds", async () => {
  await openWith({});
  await other.page.evaluate(`location.hash = "#/devices"`);
  await tab.click(ADD);
  await tab.type("Name", "evening");
  await tab.choose("What happens", "A device has another limit for some time");
  await tab.choose("Device", "TV");
  await tab.type("It receives at most, in Mbit/s", "100000");
  const [from, to] = [await clockIn(-1), await clockIn(1)];
  await tab.set("From", from);
  await tab.set("Until", to);
  await tab.click("Save the schedule");
  await tab.shows(DIALOG, "It must be from 0.1 to 10000.");
  await tab.type("It receives at most, in Mbit/s", "2.5");
  expect(await tab.barriers()).toEqual([]);
  await tab.click("Save the schedule");
  await tab.shows(FIRST, "evening Now TV has at most 2.5 Mbit/s down from ");
  await other.shows(`.device:has([aria-label="Exit of TV"])`, "2.5 Mbit/s down");
  await other.click("Edit TV");
  await other.shows(`.device:has([aria-label="Exit of TV"])`, "By the schedule evening until");
  await tab.click("Change evening");
  await tab.type("It receives at most, in Mbit/s", "");
  await tab.click("Save the schedule");
  await tab.shows(FIRST, "TV has no limit of its own from ");
  await tab.click("Remove evening");
  await tab.shows(DIALOG, "TV gets its own limit back at once.");
  await tab.click("Remove");
  await tab.shows("main", "No schedule yet");
});

test("a device's other quota is added by form, and its details say until when it holds", async () => {
  await openWith({});
  await other.page.evaluate(`location.hash = "#/devices"`);
  await tab.click(ADD);
  await tab.type("Name", "school");
  await tab.choose("What happens", "A device has another quota for some time");
  await tab.choose("Device", "TV");
  await tab.type("Its quota, in MB", "1000");
  await tab.choose("At the end of the quota", "The device is slower");
  await tab.type("It then receives at most, in Mbit/s", "2");
  const [from, to] = [await clockIn(-1), await clockIn(1)];
  await tab.set("From", from);
  await tab.set("Until", to);
  expect(await tab.barriers()).toEqual([]);
  await tab.click("Save the schedule");
  await tab.shows(FIRST, "school Now TV may use this from ");
  await tab.shows(FIRST, ": 1 GB a day, then 2 Mbit/s down.");
  await other.click("Edit TV");
  const row = `.device:has([aria-label="Exit of TV"])`;
  await other.shows(row, "of 1 GB today, then 2 Mbit/s down");
  await other.shows(row, "By the schedule school until");
  await other.shows(row, "Saving ends what the schedule has set, and replaces the device’s own quota.");
  expect(await other.barriers()).toEqual([]);
  await tab.click("Change school");
  await tab.choose("What happens", "All others have another quota for some time");
  await tab.click("Save the schedule");
  await tab.shows(FIRST, "All others together may use this from ");
  await other.shows("main", "Saving ends what the schedule has set, and replaces the quota of all others.");
  await rig.gateway.api("PUT", "/api/shared-quota", { quota: null });
  await tab.shows(FIRST, ": all others were given another quota.");
  await tab.click("Remove school");
  await tab.shows(DIALOG, "All others then keep their usual quota at that time.");
  await tab.click("Remove");
  await tab.shows("main", "No schedule yet");
});

test("a schedule that has failed says why", async () => {
  const played = `(() => {
      const real = fetch;
      globalThis.fetch = async (...request) => {
        const response = await real(...request);
        const answer = await response.clone().json().catch(() => null);
        // Alone, or among the answers of /api/page.
        const schedules = [answer?.schedules?.schedules, answer?.schedules].find(Array.isArray);
        if (schedules === undefined) return response;
        schedules[1].error = "there is no other server in Gothenburg, Sweden";
        return Response.json(answer);
      };
    })()`;
  await openWith({ film: FILM, often: OFTEN });
  const failed = await rig.browser.open(`${rig.url}#/schedules`, undefined, played);
  await failed.shows(SECOND, "It failed the last time. There is no other server in Gothenburg, Sweden.");
  expect(await failed.barriers()).toEqual([]);
});

test("removing asks first, and what another program removes is gone at once", async () => {
  await openWith({ film: FILM, often: OFTEN });
  await tab.click("Remove film");
  await tab.shows(DIALOG, "Remove the schedule film? TV then keeps its own exit at that time.");
  expect(await tab.barriers()).toEqual([]);
  await tab.click("Cancel");
  expect((await list()).schedules).toHaveLength(2);
  await tab.click("Remove film");
  await tab.click("Remove");
  await tab.shows(FIRST, "often");
  await rig.gateway.api("DELETE", "/api/schedules/often");
  await tab.shows("main", "No schedule yet");
  expect(await tab.text(".item")).toBeNull();
});
