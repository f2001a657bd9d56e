import { afterAll, beforeAll, beforeEach, expect, setDefaultTimeout, test } from "bun:test";
import type { Device } from "../../src/devices/schema.ts";
import { INTERNET } from "../../src/sandbox/topology.ts";
import { zipOf } from "../cli/archives.ts";
import { long } from "../fast.ts";
import { COUNTS_CLICKS, type Tab } from "../rig/dashboard/browser.ts";
import { type Rig, startRig, TIMEOUT_MS } from "../rig/dashboard/rig.ts";
import { until } from "../rig/tools/until.ts";

const further = long("beyond the main paths of the view");

setDefaultTimeout(TIMEOUT_MS);

let rig: Rig;
let tab: Tab;

/** A gateway that was just installed: there is no list of servers, and no account. */
beforeAll(async () => {
  rig = await startRig();
  rig.options.flags = [...(rig.options.flags ?? []), "--managed-list", ""];
  await rig.gateway.keep();
}, TIMEOUT_MS);
beforeEach(() => rig.reset(), TIMEOUT_MS);
afterAll(() => rig?.close(), TIMEOUT_MS);

const open = async (route = "", before = "") => {
  tab = await rig.browser.open(`${rig.url}${route}`, undefined, before);
};

/** Another answer about the gateway's network than the sandbox's; a refusal, of too many requests for example, stays one. */
const networkWith = (change: object) => `(() => {
  const real = fetch;
  window.fetch = async (...request) => {
    const answer = await real(...request);
    // The page asks for several answers at once.
    if (!answer.ok || !String(request[0]).startsWith("/api/page")) return answer;
    const { network, ...others } = await answer.json();
    return Response.json({ ...others, ...(network && { network: { ...network, ...${JSON.stringify(change)} } }) });
  };
})()`;

/** Requests to these paths wait until `release()` is called in the page; the script runs before the page's. */
const HOLDS = `(() => {
  const real = fetch;
  const { promise, resolve } = Promise.withResolvers();
  globalThis.held = [];
  globalThis.holding = [];
  globalThis.release = resolve;
  window.fetch = async (...request) => {
    if (!holding.some((part) => String(request[0]).includes(part))) return real(...request);
    held.push(request[0]);
    await promise;
    return real(...request);
  };
})()`;

/** The first request to this path is lost on its way. */
const LOSES_ONE = (path: string) => `(() => {
  const real = fetch;
  globalThis.lost = 0;
  window.fetch = async (...request) => {
    if (lost > 0 || !String(request[0]).endsWith(${JSON.stringify(path)})) return real(...request);
    lost++;
    throw new TypeError("Failed to fetch");
  };
})()`;

/** Two servers, as if their files had been dropped. */
async function importServers(): Promise<void> {
  for (const [index, name] of ["gothenburg", "amsterdam"].entries()) {
    const body = { ...rig.lab.sandbox.servers[index]?.importBody, name };
    expect(await rig.gateway.api("POST", "/api/import", body)).toMatchObject({ status: 200 });
  }
  expect(await rig.gateway.api("POST", "/api/provider/imported")).toMatchObject({ status: 200 });
}

/** As a person does who opens a website on the computer with the browser. */
const openWebsite = () => rig.lab.fetchFrom(rig.lab.namespaces.client, `http://${INTERNET.host4}/`);

test("a gateway without a server leads to the first steps, with the three ways to get one", async () => {
  await open();
  await tab.shows("h1", "Set up the gateway");
  await tab.shows(".ways", "With an account");
  await tab.page.click(".ways summary");
  await tab.shows(".ways details", "sudo portcullis account login");
  expect(await tab.text("title")).not.toBeNull();
  expect(await tab.page.title()).toBe("Set up · Portcullis");
  expect(await tab.text(".step:nth-child(2)")).toBe("2 Connect");
  expect(await tab.barriers()).toEqual([]);
});

further.test(
  "Home can be seen without a server too, and leads back only when the page is opened again",
  async () => {
    await open();
    await tab.shows("h1", "Set up the gateway");
    await tab.click("Home");
    await tab.shows(".state h1", "Blocked");
    await tab.page.reload();
    await tab.shows("h1", "Set up the gateway");
  },
);

test("the form for a server of one's own shows what the gateway refuses at the field that it names", async () => {
  await open();
  await tab.click("Add a server…");
  await tab.click("Add the server");
  await tab.shows(".field:has([name=name]) .failed", "It is required.");
  await tab.focuses("name");
  const lacks = `[...document.querySelectorAll(".field:has(.failed) [name]")].map((each) => each.name)`;
  const required = ["name", "endpoint", "public_key", "private_key", "address"];
  expect(await tab.page.evaluate(lacks)).toEqual(required);
  expect(await tab.barriers()).toEqual([]);
  await tab.page.type("[name=name]", "home");
  await tab.page.type("[name=endpoint]", "nonsense");
  for (const name of ["public_key", "private_key", "address"]) await tab.page.type(`[name=${name}]`, "x");
  await tab.press("Enter");
  await tab.shows(".field:has([name=address]) .failed", "It must be addresses in CIDR form");
  await tab.focuses("address");
  expect(await tab.barriers()).toEqual([]);
});

test("dropped files are imported, each with its result, and the next step opens", async () => {
  const [one, two] = rig.lab.sandbox.servers;
  await open();
  await tab.shows("h1", "Set up the gateway");
  await tab.drop({
    "gothenburg.conf": one.importText.replace("[Peer]", "Table = off\n\n[Peer]"),
    "amsterdam.conf": two.importText,
    "photo.jpg": new Uint8Array([0xff, 0xd8, 0xff, 0xe0]),
    "hooks.conf": one.importText.replace("[Peer]", "PostUp = reboot\n\n[Peer]"),
    "oslo.ovpn": "client\ndev tun\nremote 203.0.113.11 1194\n",
  });
  await tab.shows("dialog[open]", "2 servers imported, 3 refused.");
  expect(await tab.text("dialog .results")).toMatch(
    /^photo.jpg was refused It is not a text file, .* hooks.conf was refused .*PostUp.* oslo.ovpn was refused It is an OpenVPN file, .* choose WireGuard .* gothenburg was imported .*Table: .* amsterdam was imported$/,
  );
  expect(await tab.barriers()).toEqual([]);
  await tab.click("Continue");
  await tab.shows(".step:nth-child(1)", "2 servers to choose from.");
  await tab.shows(
    ".step:nth-child(2)",
    /Netherlands Amsterdam · 1 server Connect amsterdam .*Sweden Gothenburg · 1 server Connect gothenburg /,
  );
  expect((await rig.gateway.api("GET", "/api/providers")).body.current).toBe("imported");
  expect(await tab.barriers()).toEqual([]);
});

further.test(
  "what gluetun and wg-easy have kept is shown as what it becomes here, and its keys are not",
  async () => {
    const key = Buffer.alloc(32, 7).toString("base64");
    const gluetun = `services:\n  vpn:\n    environment:\n      - VPN_SERVICE_PROVIDER=airvpn\n      - WIREGUARD_PRIVATE_KEY=${key}\n      - SERVER_CITIES=Gothenburg\n`;
    const wgEasy = { clients: { one: { name: "phone", privateKey: key, enabled: true } } };
    await open();
    await tab.shows("h1", "Set up the gateway");
    await tab.drop({ "docker-compose.yml": gluetun, "wg0.json": JSON.stringify(wgEasy) });
    await tab.shows("dialog[open]", "Devices of wg-easy that can come in from outside: phone.");
    await tab.shows("dialog .command", "portcullis connect Gothenburg");
    await tab.shows("dialog[open]", "For servers of airvpn, import its WireGuard files here.");
    expect(await tab.text("dialog[open]")).toContain("There is no command for WIREGUARD_PRIVATE_KEY.");
    expect(await tab.text("dialog[open]")).not.toContain(key);
    expect(await tab.barriers()).toEqual([]);
  },
);

test("a dropped zip and two clicks protect this device", async () => {
  const [box] = rig.lab.sandbox.servers;
  await open("", COUNTS_CLICKS);
  await tab.shows("h1", "Set up the gateway");
  await tab.drop({ "servers.zip": zipOf("box.conf", box.importText) });
  await tab.shows("dialog[open]", "1 server imported.");
  await tab.click("Continue");
  await tab.click("Connect to box");
  await tab.shows(".step:nth-child(2)", "Connected to box.");
  await until(async () => (await openWebsite()) !== null);
  await tab.shows(".verdict", "This device is protected");
  expect(await tab.clicks()).toBe(2);
});

further.test(
  "the results of an import stay closed, also if its provider is chosen only afterwards",
  async () => {
    const [box] = rig.lab.sandbox.servers;
    await open("", HOLDS);
    await tab.shows("h1", "Set up the gateway");
    await tab.page.evaluate(`holding.push("provider/imported")`);
    await tab.drop({ "box.conf": box.importText });
    await until(async () => (await tab.page.evaluate("held.length")) === 1);
    await tab.click("Continue");
    await tab.loses("dialog");
    await tab.page.evaluate("release()");
    await tab.click("Connect to box");
    await tab.shows(".step:nth-child(2)", "Connected to box.");
    expect(await tab.text("dialog")).toBeNull();
  },
);

further.test(
  "imported servers are offered, also if the gateway was not heard when they were chosen",
  async () => {
    const [box] = rig.lab.sandbox.servers;
    await open("", LOSES_ONE("provider/imported"));
    await tab.shows("h1", "Set up the gateway");
    await tab.drop({ "box.conf": box.importText });
    await tab.click("Continue");
    await tab.shows(".step:nth-child(2)", "box");
    expect(await tab.page.evaluate("lost")).toBe(1);
  },
);

further.test(
  "this device counts as protected by what it sends before the page has read of it again",
  async () => {
    await importServers();
    await open("#/setup", HOLDS);
    await tab.shows(".step:nth-child(2)", "Connect gothenburg");
    await tab.page.evaluate(`holding.push("devices/self")`);
    await tab.click("Connect to gothenburg");
    await tab.shows(".step:nth-child(2)", "Connected to gothenburg.");
    // One packet, so that nothing of it can come later.
    await rig.lab.exec(rig.lab.namespaces.client, ["ping", "-c", "1", "-W", "10", INTERNET.host4]);
    await until(async () => {
      const { devices } = (await rig.gateway.api("GET", "/api/devices")).body;
      return devices.some(({ id, tx_bytes }: Device) => id === "02:00:00:00:00:10" && tx_bytes > 0);
    });
    await tab.page.evaluate("release()");
    await tab.shows(".verdict", "This device is protected");
  },
);

test("once connected, the gateway's own address is shown, for the whole home and for one device", async () => {
  await importServers();
  await open("#/setup");
  await tab.click("Connect to amsterdam");
  await tab.shows(".step:nth-child(2)", "Connected to amsterdam.");
  await tab.shows(".step:nth-child(3)", "The gateway gives addresses: off.");
  await tab.page.click(".step:nth-child(3) label:last-child");
  await tab.shows(".step:nth-child(3)", "In the network settings of the device");
  await tab.shows(".step:nth-child(3)", "Router (gateway) 192.168.77.1 DNS server 192.168.77.1");
  await tab.shows(".verdict", "Waiting for this device");
  expect(await tab.barriers()).toEqual([]);
});

further.test(
  "for the whole home it says whether the gateway gives the addresses, and only then what to do, with one cable and two",
  async () => {
    await importServers();
    expect((await rig.gateway.api("POST", "/api/connect", { server: "amsterdam" })).status).toBe(200);
    const { lan } = (await rig.gateway.api("GET", "/api/network")).body;
    const oneCable = { uplink: lan[0].interface };
    const shows = (text: string | RegExp) => tab.shows(".step:nth-child(3)", text);
    await open("#/setup");
    await shows(/gives addresses: off\..* sudo portcullis install --dhcp Copy .* Connect all devices/);
    await open("#/setup", networkWith(oneCable));
    await shows(
      /off\..* a fixed address .* switch off DHCP, .* install --dhcp Copy .* Connect each device again/,
    );
    await tab.page.click(".step:nth-child(3) .how + details summary");
    await shows(/enter in its DHCP settings: Router \(gateway\) 192\.168\.77\.1 /);
    expect(await tab.barriers()).toEqual([]);
    await open("#/setup", networkWith({ ...oneCable, dhcp: true }));
    await shows(
      /gives addresses: on\..* There is nothing to enter.* switch off DHCP, .* Connect each device again/,
    );
    expect(await tab.text(".step:nth-child(3)")).not.toContain("192.168.77.1");
    expect(await tab.barriers()).toEqual([]);
    await open("#/setup", networkWith({ dhcp: true }));
    await shows(/gives addresses: on\..* at its network card lan0, /);
    expect(await tab.text(".step:nth-child(3)")).not.toContain("switch off DHCP");
  },
);

test("this device counts as protected once the gateway has forwarded something of it, and no longer than its tunnel is up", async () => {
  await importServers();
  expect((await rig.gateway.api("POST", "/api/connect", { server: "amsterdam" })).status).toBe(200);
  await open("#/setup");
  await tab.shows(".verdict", "Waiting for this device");
  await until(async () => (await openWebsite())?.includes("203.0.113.12") === true);
  await tab.shows(
    ".verdict",
    "This device is protected What it sends to the internet goes through amsterdam.",
  );
  expect(await tab.barriers()).toEqual([]);
  await rig.gateway.api("PUT", "/api/devices/02:00:00:00:00:10", { exit: "blocked" });
  await tab.shows(".verdict", "Blocked The exit of this device is “blocked”: nothing leaves.");
  expect(await openWebsite()).toBeNull();
  await rig.gateway.api("PUT", "/api/devices/02:00:00:00:00:10", { exit: "main" });
  await tab.shows(".verdict", "This device is protected");
  await tab.click("Go to Home");
  await tab.shows(".state h1", "Protected");
});
