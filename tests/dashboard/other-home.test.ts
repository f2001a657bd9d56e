import { afterAll, beforeAll, expect, setDefaultTimeout } from "bun:test";
import { formatCode, parseCode } from "../../src/remote/home-code.ts";
import type { HomeLink } from "../../src/remote/schema.ts";
import { ROUTER } from "../../src/sandbox/topology.ts";
import { generateKeyPair } from "../../src/wireguard/key.ts";
import { cidrs } from "../fake/address.ts";
import { long } from "../fast.ts";
import { type Rig, startRig, TIMEOUT_MS } from "../rig/dashboard/rig.ts";
import { until } from "../rig/tools/until.ts";

const { test } = long("each view of the page");

setDefaultTimeout(TIMEOUT_MS);

const DIALOG = "dialog[open]";
const ROW = ".item:has(.home-link)";

let rig: Rig;

beforeAll(async () => {
  rig = await startRig();
  await rig.gateway.api("POST", "/api/connect", { server: "box-vpn-1" });
  await rig.send();
}, TIMEOUT_MS);
afterAll(async () => {
  await rig?.close();
}, TIMEOUT_MS);

const link = async (): Promise<HomeLink> => (await rig.gateway.api("GET", "/api/links")).body.links[0];

/** What the gateway of the other home makes of the code. */
function answerTo(code: string | null): string {
  const { id } = parseCode(code ?? "");
  return formatCode({
    ...{ id, isAnswer: true, key: generateKeyPair().publicKey, name: "", endpoint: null, exit: null },
    ...{ prefixes: cidrs("192.168.66.0/24"), exitKey: generateKeyPair().publicKey },
  });
}

test("another home is linked by two codes, reaches what is allowed, leaves here after a question, and is removed", async () => {
  const on = await rig.gateway.operate("remote", "on", "--endpoint", ROUTER.public4);
  expect(on).toMatchObject({ code: 0, stderr: "" });
  const { body } = await rig.gateway.api("GET", "/api/devices");
  const [printer] = body.devices;
  await rig.gateway.api("PUT", `/api/devices/${printer.id}`, { name: "Printer" });

  const tab = await rig.browser.open(`${rig.url}#/remote`);
  await tab.click("Begin a link…");
  await tab.type("Name", "parents");
  await tab.press("Enter");
  await tab.shows(ROW, "Waiting for its answer");
  const { code } = await link();
  await tab.shows(`${ROW} .command`, code ?? "");
  await tab.click("Copy the code for parents");
  await tab.shows(`${ROW} [role=status]`, "Copied.");
  expect(await tab.barriers()).toEqual([]);

  await tab.click("Take a code…");
  await tab.type("Code", "home1_x");
  await tab.press("Enter");
  await tab.shows(".field:has([name=code]) .failed", "It is not whole");
  await tab.type("Code", answerTo(code));
  await tab.press("Enter");
  await tab.shows(ROW, "Its network: 192.168.66.0/24");
  await tab.shows(ROW, "It reaches nothing here.");

  await tab.click("Allow a device to parents…");
  await tab.choose("Device", "Printer");
  await tab.click("Allow");
  await tab.shows(`${ROW} .reached`, "Printer");
  expect((await link()).devices).toMatchObject([{ id: printer.id }]);

  await tab.choose("Whether parents leaves here", "It may leave here");
  await tab.shows(DIALOG, "Let parents leave here?");
  expect((await link()).exit).toBe(false);
  await tab.click("Let it leave here");
  await until(async () => (await link()).exit === true);
  expect(await tab.barriers()).toEqual([]);

  await tab.click("Remove the link to parents");
  await tab.shows(
    DIALOG,
    "It no longer reaches Printer. Nothing here reaches 192.168.66.0/24 any more. It no longer leaves here",
  );
  await tab.click("Cancel");
  await tab.click("Deny Printer to parents");
  await tab.shows(ROW, "It reaches nothing here.");
  expect((await link()).devices).toEqual([]);
  await tab.click("Remove the link to parents");
  await tab.click("Remove");
  await until(async () => (await link()) === undefined);
  await tab.loses(ROW);
  // The code that is not whole.
  expect(tab.complaints).toEqual([expect.stringContaining("status of 400")]);
});
