import { afterAll, beforeAll, expect, setDefaultTimeout } from "bun:test";
import { LANGUAGES } from "../../src/dashboard/languages/all.ts";
import { LAN } from "../../src/sandbox/topology.ts";
import { long } from "../fast.ts";
import { catalogueOf } from "../page/messages.ts";
import type { Look, Tab } from "../rig/dashboard/browser.ts";
import { type Rig, startRig } from "../rig/dashboard/rig.ts";
import { openView } from "../rig/dashboard/secure.ts";
import { look, VIEWS } from "../rig/dashboard/views.ts";

const { test } = long("each button of each view in each language");

/** Some three hundred buttons, and an axe-core for each dialog. */
const TIMEOUT_MS = 1_800_000;
setDefaultTimeout(TIMEOUT_MS);
const PAGE = `https://${LAN.gateway4}:5443/`;
const LOOKS: readonly Look[] = [
  { width: 360, scheme: "light" },
  { width: 1400, scheme: "dark" },
];
const TV = "02:00:00:00:00:20";

/** In English, in the order of the views and their buttons. */
const DIALOGS = [
  "Disconnect?",
  "Camera",
  "Laptop",
  "TV",
  "Add a server",
  "Exits of Camera in order",
  "Forget Camera?",
  "Exits of Laptop in order",
  "Forget Laptop?",
  "Exits of TV in order",
  "Forget TV?",
  "Allow the exit “direct”?",
  "Change the server of the main tunnel",
  "Targets of the main tunnel",
  "Disconnect main?",
  "Change the server of the tunnel tv",
  "Targets of the tunnel tv",
  "Disconnect tv?",
  "Remove the tunnel tv?",
  "Add a tunnel",
  "Add a rule",
  "Remove this rule?",
  "Add a list",
  "Add a device",
  "Turn remote access off?",
  "Begin a link",
  "Take a code",
  "Add a schedule",
  "Change night",
  "Remove the schedule night?",
  "Remove the token laptop?",
  "Turn the kill switch off?",
];
/** What does not come by a button: files that are dropped on the page. */
const DROPPED = { "broken.conf": "[Interface]\n", "notes.txt": "none" };

let rig: Rig;
let token = "";

beforeAll(async () => {
  rig = await startRig();
  rig.options.flags = ["--host", "::", "--https", "on"];
  await rig.gateway.restart();
  const { gateway, lab } = rig;
  for (const { mac, name } of lab.sandbox.computers)
    await gateway.api("PUT", `/api/devices/${mac}`, { name });
  await gateway.api("POST", "/api/connect", { server: "Sweden" });
  await rig.send();
  await gateway.api("PUT", "/api/tunnels/tv", { provider: "managed", server: "box-vpn-2" });
  await gateway.api("PUT", "/api/schedules/night", {
    device: TV,
    exit: "blocked",
    at: "03:00",
    until: "03:10",
  });
  await gateway.api("POST", "/api/destinations", { prefixes: ["192.0.2.0/28"], exit: "blocked" });
  await gateway.operate("remote", "on");
  token = await ownersToken();
}, TIMEOUT_MS);
afterAll(() => rig?.close(), TIMEOUT_MS);

/** That of a browser that has become an owner's, whose buttons ask for the passphrase. */
async function ownersToken(): Promise<string> {
  const [code = ""] = (await rig.gateway.operate("pair")).stdout.split("\n");
  const tab = await openView(rig, "", PAGE);
  const body = JSON.stringify({ code, name: "laptop", passphrase: "correct horse battery" });
  const asked = `fetch("/api/owner/pair", { method: "POST", headers: { "Content-Type": "application/json" }, body: ${JSON.stringify(body)} }).then((answer) => answer.json())`;
  const answer = (await tab.page.evaluate(asked)) as { token: string };
  return answer.token;
}

/** A browser that wishes a language, is an owner's, and changes nothing: each button may be clicked. */
const before = (code: string) => `
  Object.defineProperty(navigator, "languages", { get: () => ["${code}"] });
  try { localStorage.setItem("portcullis-token", "${token}"); } catch {}
  const real = fetch;
  window.fetch = (path, init = {}) => (init.method ?? "GET") === "GET" ? real(path, init)
    : Promise.resolve(Response.json({ success: false, error: "not in this test" }, { status: 503 }));
`;

for (const { code } of LANGUAGES)
  test(`${code}: axe-core finds nothing in any dialog that a button opens, in light on a phone and in dark on a desk`, async () => {
    const tab = await rig.browser.open(PAGE, undefined, before(code));
    // Home has its own buttons once the status is known; its picture and a device's dialog have a script of their own.
    await tab.page.waitForSelector(".state-buttons button");
    await tab.page.waitForSelector(".picture button");
    await tab.page.evaluate(`document.querySelector(".picture button").click()`);
    await tab.shows("dialog[open]", "Camera");
    await tab.page.evaluate(CLOSE);
    const titles: string[] = [];
    for (const [view, title] of Object.entries(VIEWS))
      titles.push(...(await dialogsOf(tab, code, view, title)));
    if (code === "en") expect(titles).toEqual(DIALOGS);
    else expect({ titles, count: titles.length }).toEqual({ titles, count: DIALOGS.length });
    await tab.drop(DROPPED);
    await tab.shows("dialog[open]", "broken.conf");
    expect(await tab.barriers(LOOKS)).toEqual([]);
    await rig.browser.closeTabs();
  });

/** Clicks each button and takes each choice of a view that opens a dialog; returns the titles of those. */
async function dialogsOf(tab: Tab, code: string, view: string, title: string): Promise<string[]> {
  const shown = code === "en" ? title : (catalogueOf(code)[title] ?? "");
  await look(tab, view, shown);
  const titles: string[] = [];
  const tried: string[] = [];
  for (;;) {
    const found = (await tab.page.evaluate(opened(tried))) as { one: string; title: string } | null;
    if (found === null) return titles;
    tried.push(found.one);
    if (found.title !== "" && !titles.includes(found.title)) {
      titles.push(found.title);
      const barriers = await tab.barriers(LOOKS);
      expect({ view, dialog: found.title, barriers }).toEqual({ view, dialog: found.title, barriers: [] });
    }
    await tab.page.evaluate(CLOSE);
  }
}

/**
 * Does what the first button or choice of the view does that was not tried, and resolves to which one it was and to the title
 * of the dialog that it has opened: empty if it has opened none; null if all were tried. A button may open a form in its
 * place, or say "Close" from then on, so each is tried once by its name and by itself. The languages and the way out would leave the page, and what is pressed down hides others.
 */
const opened = (tried: readonly string[]) => `(async () => {
  const tried = new Set(${JSON.stringify(tried)});
  const all = [...document.querySelectorAll("main button, main select")]
    .filter((each) => each.closest(".languages, .logout, [aria-pressed]") === null && each.checkVisibility());
  const names = all.map((each) => each.ariaLabel ?? (each.matches("select") ? each.name : each.innerText));
  const ones = names.map((name, at) => name + " " + names.slice(0, at).filter((other) => other === name).length);
  const at = ones.findIndex((one, at) => !tried.has(one) && !all[at].isTried);
  if (at === -1) return null;
  const one = all[at];
  one.isTried = true;
  const nothing = { one: ones[at], title: "" };
  const drawn = () => new Promise(requestAnimationFrame);
  if (one.matches("select")) {
    // What it offers is there once it has the focus.
    one.focus();
    await drawn();
    const option = [...one.options].find((each) => each.text.endsWith("…"));
    if (option === undefined) return nothing;
    one.value = option.value;
    one.dispatchEvent(new Event("change", { bubbles: true }));
  } else one.click();
  for (let frame = 0; frame < 3; frame += 1) await drawn();
  const dialog = document.querySelector("dialog[open]");
  if (dialog === null) return nothing;
  return { ...nothing, title: document.getElementById(dialog.getAttribute("aria-labelledby")).innerText };
})()`;

/** As Escape does. */
const CLOSE = `(async () => {
  document.querySelector("dialog[open]")?.dispatchEvent(new Event("cancel", { cancelable: true }));
  await new Promise(requestAnimationFrame);
})()`;
