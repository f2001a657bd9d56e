import { expect } from "bun:test";
import { LAN } from "../../../src/sandbox/topology.ts";
import { until } from "../tools/until.ts";
import type { Tab } from "./browser.ts";
import type { Rig } from "./rig.ts";

const HTTPS = 5443;

/** The page's address by HTTPS. */
export const SECURE = `https://${LAN.gateway4}:${HTTPS}/`;

/** A gateway's flags that serve it. */
export const SECURE_FLAGS = ["--host", "::", "--https", String(HTTPS)];

/** Opens a view once HTTPS is there. */
export async function openView({ gateway, browser }: Rig, view: string, url = SECURE): Promise<Tab> {
  await untilSecure(gateway);
  return browser.open(`${url}#/${view}`);
}

/** HTTPS begins a moment after HTTP. */
export function untilSecure(gateway: Rig["gateway"]): Promise<unknown> {
  return until(async () => (await gateway.api("GET", "/api/https")).body.certificate !== null);
}

/** Whether the page over plain HTTP shows the way to HTTPS. */
export async function assertLeadsToHttps(tab: Tab, view: string): Promise<void> {
  await tab.shows("main", "By HTTPS only");
  const links = `[...document.querySelectorAll('main a.button[href^="https:"]')].map(({ href }) => href)`;
  expect(await tab.page.evaluate(links)).toEqual([`${SECURE}#/${view}`]);
  expect(await tab.barriers()).toEqual([]);
}

/** What the page and the gateway have told, wherever a person or a program could find it. */
export async function told({ gateway }: Rig, tab: Tab): Promise<string> {
  const kept =
    "JSON.stringify([location.href, history.state, {...localStorage}, {...sessionStorage}]) + document.documentElement.outerHTML + [...document.querySelectorAll('input')].map((each) => each.value)";
  const events = JSON.stringify((await gateway.api("GET", "/api/events")).body);
  return [await tab.page.evaluate(kept), gateway.log(), ...tab.urls, events].join("\n");
}
