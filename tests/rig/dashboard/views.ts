import type { Tab } from "./browser.ts";

/** The titles of the page's views in English, by the part of the address after `#/`. */
export const VIEWS = {
  "": "Home",
  servers: "Servers",
  setup: "Set up",
  devices: "Devices",
  tunnels: "Tunnels",
  destinations: "Destinations",
  remote: "Remote",
  schedules: "Schedules",
  account: "Account",
  settings: "Settings",
  history: "History",
  checks: "Checks",
  log: "Log",
};

/** Leads to a view, and waits until all that it shows is there. `title` is in the page's language. */
export async function look(tab: Tab, view: string, title: string): Promise<void> {
  await tab.page.evaluate(`location.hash = "#/${view}"`);
  const isThere = `document.title === ${JSON.stringify(`${title} · Portcullis`)} && document.querySelector("main .card") && !document.querySelector(".pending")`;
  await tab.page.waitForFunction(isThere).catch(async (cause) => {
    throw new Error(`${view} is not there, but: ${await tab.text("body")}`, { cause });
  });
}
