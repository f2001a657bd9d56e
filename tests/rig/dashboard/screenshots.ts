import { writeFileSync } from "node:fs";
import { join } from "node:path";
import type { Page } from "puppeteer-core";
import type { Device } from "../../../src/devices/schema.ts";
import { HOME, INTERNET } from "../../../src/sandbox/topology.ts";
import type { Ran } from "../tools/lab.ts";
import { PROGRAM } from "../tools/program.ts";
import { until } from "../tools/until.ts";
import type { Look, Tab } from "./browser.ts";
import { playHistory } from "./played-history.ts";
import { playedRate } from "./played-traffic.ts";
import { type Rig, startRig } from "./rig.ts";
import { SECURE, SECURE_FLAGS, untilSecure } from "./secure.ts";
import { look, VIEWS } from "./views.ts";

/** Takes the pictures of the documentation, or those that are named. scripts/screenshots runs it. */

const WANTED = process.argv.slice(2);

const FOLDER = join(import.meta.dir, "../../../docs/images");
const LOOKS: Readonly<Record<string, Look>> = {
  desk: { width: 1400, scheme: "light" },
  phone: { width: 360, scheme: "dark" },
};
/** Times and counters differ from run to run, and are less of a picture than this. */
const SAME_BELOW = 0.01;
const TALLEST_PX = 1_400;
const WORKDAYS = ["mon", "tue", "wed", "thu", "fri"];

/** The page is played the traffic of a home, ten minutes of it at once, because nobody wants to wait for them. */
const PLAYED_TRAFFIC = `(() => {
  const Real = WebSocket;
  const rateAt = ${playedRate};
  let rx = 0, tx = 0, second = 0, began = null;
  const play = (end, { tunnels }, listener) => {
    began ??= end - 600000;
    for (; began + second * 1000 <= end; second++) {
      const rate = rateAt(second);
      rx += rate.rx;
      tx += rate.tx;
      const rows = tunnels.map((row, index) => ({ ...row, rx_bytes: index ? 0 : rx, tx_bytes: index ? 0 : tx }));
      const devices = [{ id: "02:00:00:00:00:10", rx_bytes: rx, tx_bytes: tx }];
      const at = new Date(began + second * 1000).toISOString();
      listener({ data: JSON.stringify({ type: "traffic", payload: { at, tunnels: rows, devices } }) });
    }
  };
  window.WebSocket = class extends Real {
    set onmessage(listener) {
      super.onmessage = listener && ((message) => {
        const { type, payload } = JSON.parse(message.data);
        if (type === "traffic") play(Date.parse(payload.at), payload, listener);
        else listener(message);
      });
    }
    get onmessage() {
      return super.onmessage;
    }
  };
})()`;

const rig = await startRig();
try {
  await rig.gateway.kill("SIGTERM");
  playHistory(rig);
  rig.options.flags = SECURE_FLAGS;
  await rig.gateway.start();
  await prepareHome(rig);
  await bringPhone(rig);
  await photograph(rig);
} finally {
  await rig.close();
}
process.exit(0);

/** A home as in the README: the TV leaves by a tunnel of its own, and the camera is blocked. */
async function prepareHome({ lab, gateway }: Rig): Promise<void> {
  const api = async (method: string, path: string, body: unknown): Promise<void> => {
    const { status, body: answer } = await gateway.api(method, path, body);
    if (status !== 200) throw new Error(`${method} ${path}: ${JSON.stringify(answer)}`);
  };
  for (const { mac, name } of lab.sandbox.computers) await api("PUT", `/api/devices/${mac}`, { name });
  await api("POST", "/api/connect", { server: "Sweden" });
  await api("PUT", "/api/tunnels/amsterdam", { provider: "managed", server: "box-vpn-2" });
  const [, tv, camera] = lab.sandbox.computers;
  await api("PUT", `/api/devices/${tv?.mac}`, { exit: "amsterdam" });
  await api("PUT", `/api/devices/${camera?.mac}`, { exit: "blocked" });
  const streaming = { prefixes: ["198.51.100.0/24"], devices: [tv?.mac], exit: "amsterdam" };
  await api("POST", "/api/destinations", { ...streaming, note: "a streaming service" });
  await api("POST", "/api/destinations", {
    prefixes: ["192.0.2.0/28"],
    exit: "blocked",
    note: "advertisements",
  });
  const evening = { device: tv?.mac, exit: "amsterdam", at: "20:00", until: "23:00" };
  await api("PUT", "/api/schedules/evening%20film", evening);
  const night = { device: camera?.mac, exit: "blocked", at: "22:00", until: "06:30", days: WORKDAYS };
  await api("PUT", "/api/schedules/night", night);
  await api("PUT", "/api/schedules/other%20server", { tunnel: "main", at: "04:00" });
  await api("PUT", `/api/forwards/${tv?.mac}/tcp/6881`, { external: 51413 });
}

/** A remote phone comes home, and is heard. */
async function bringPhone({ lab, gateway }: Rig): Promise<void> {
  const run = async (ran: Promise<Ran>) => {
    const { code, stdout, stderr } = await ran;
    if (code !== 0) throw new Error(stderr);
    return stdout;
  };
  await run(gateway.operate("remote", "on", "--endpoint", HOME.name));
  const url = `http://127.0.0.1:${gateway.port}`;
  const added = await run(lab.outside([...PROGRAM, "remote", "add", "Phone", "--file", "--url", url]));
  const file = join(lab.sandbox.directory, "phone.conf");
  writeFileSync(file, added, { mode: 0o600 });
  await run(lab.outside([lab.sandbox.files.phone, "wg-quick", "up", file]));
  await run(lab.outside([lab.sandbox.files.phone, "curl", "-sf", `http://${INTERNET.host4}/`]));
  await until(async () => {
    const { devices } = (await gateway.api("GET", "/api/devices")).body;
    return devices.some(({ kind, online }: Device) => kind === "remote" && online);
  });
}

/** By HTTPS, because two of the views are nothing without it. */
async function photograph({ browser, gateway }: Rig): Promise<void> {
  await untilSecure(gateway);
  const tab = await browser.open(SECURE, undefined, PLAYED_TRAFFIC);
  await tab.shows(".state h1", "Protected");
  // The docs show no gateway that is being set up.
  const { setup: _, ...views } = VIEWS;
  for (const [view, title] of Object.entries(views)) {
    await look(tab, view, title);
    if (view === "history") await tab.click("Last day");
    await take(tab, view || "home");
  }
  await tab.page.evaluate(`location.hash = "#/"`);
  await gateway.operate("killswitch", "off");
  await tab.shows(".state h1", "Exposed");
  await tab.shows(".home", "Firewall: off");
  await take(tab, "exposed");
  await gateway.operate("killswitch", "on");
  await tab.shows(".state h1", "Protected");
  await gateway.api("POST", "/api/disconnect");
  await tab.shows(".state h1", "no internet");
  await take(tab, "blocked");
  await gateway.kill("SIGKILL");
  await tab.shows(".state h1", "No answer");
  await take(tab, "lost");
}

async function take(tab: Tab, name: string): Promise<void> {
  if (WANTED.length > 0 && !WANTED.includes(name)) return;
  for (const [size, look] of Object.entries(LOOKS)) {
    await tab.wear(look);
    await tab.page.waitForNetworkIdle({ idleTime: 300 }).catch(() => {});
    await tab.loses("main .pending");
    const height = Number(await tab.page.evaluate("document.documentElement.scrollHeight"));
    await tab.page.setViewport({ width: look.width, height: Math.min(height, TALLEST_PX) });
    const picture = await tab.page.screenshot();
    const path = join(FOLDER, `dashboard-${name}-${size}.png`);
    const before = await Bun.file(path)
      .bytes()
      .catch(() => null);
    const isSame = before !== null && (await difference(tab.page, before, picture)) < SAME_BELOW;
    if (!isSame) await Bun.write(path, picture);
    console.log(`${isSame ? "same" : "new "}  ${path}`);
  }
}

/** Which part of the pixels differs; 1 if the sizes do. */
async function difference(page: Page, one: Uint8Array, two: Uint8Array): Promise<number> {
  const blank = await page.browser().newPage();
  const [first, second] = [one, two].map((each) => JSON.stringify(each.toBase64()));
  const part = await blank.evaluate(`(async () => {
    const pixels = async (text) => {
      const image = await createImageBitmap(new Blob([Uint8Array.fromBase64(text)], { type: "image/png" }));
      const context = new OffscreenCanvas(image.width, image.height).getContext("2d");
      context.drawImage(image, 0, 0);
      return new Uint32Array(context.getImageData(0, 0, image.width, image.height).data.buffer);
    };
    const [one, two] = [await pixels(${first}), await pixels(${second})];
    if (one.length !== two.length) return 1;
    return one.reduce((count, each, index) => count + (each === two[index] ? 0 : 1), 0) / one.length;
  })()`);
  await blank.close();
  return Number(part);
}
