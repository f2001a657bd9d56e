import { afterAll, beforeAll, expect, test } from "bun:test";
import { join } from "node:path";
import { ADDRESS } from "../../../src/access-point/settings.ts";
import { flash, putOnCard } from "./flashed-image.ts";
import { ask, claim, claimable, EAGER, leaksWithout, owner } from "./flashed-page.ts";
import {
  clean,
  closeStage,
  guest,
  image,
  lab,
  loggedIn,
  note,
  openStage,
  PATIENCE_MS,
  seconds,
} from "./stage.ts";

beforeAll(openStage, PATIENCE_MS);
afterAll(closeStage, PATIENCE_MS);

/** Radios of the kernel's own (mac80211_hwsim): the gateway's, and those of two devices. */
const STATIONS = {
  ...EAGER,
  "systemd.extra-unit.stations.service": `[Unit]
After=boot-firmware.mount systemd-udevd.service
RequiresMountsFor=/boot/firmware
[Service]
ExecStart=/usr/bin/python3 /boot/firmware/stations.py
`,
  "systemd.unit-dropin.sysinit.target": "[Unit]\nWants=eager.service\n",
  "systemd.unit-dropin.multi-user.target": "[Unit]\nWants=stations.service\n",
};

test(
  "without its kill switch, the same image leaks once it has a cable: the sniffer sees it",
  leaksWithout,
  PATIENCE_MS,
);

test(
  "without a cable there is an access point, where a device finds the portal and the gateway's page and nothing else; a cable ends it",
  async () => {
    await guest.powerOff();
    await flash(image);
    await putOnCard(image, join(import.meta.dir, "stations.py"), "stations.py");
    const sniffer = await lab.sniff();
    guest.powerOn(undefined, STATIONS);
    await guest.pull();
    const { ssid } = await told("joined");
    note("power-on to a device in the access point", seconds(guest.age));
    expect(ssid).toMatch(/^Portcullis-[0-9A-F]{4}$/);
    const { address, ...found } = await told("found");
    expect(address).toStartWith("192.168.73.");
    expect(found).toEqual({
      ...{ ssid, router: ADDRESS, portal: `http://${ADDRESS}/`, probe: [302, `http://${ADDRESS}/`] },
      ...{ dns: ADDRESS, mdns: ADDRESS, page: true, claim: "open", open: [53, 80, 443] },
    });
    expect(await told("second")).toEqual({ page: true });
    expect((await sniffer.count()).leaks).toEqual([]);
    await guest.plug();
    const pluggedAt = guest.age;
    await told("gone");
    note("cable to the end of the access point", seconds(guest.age - pluggedAt));
    await claimable();
    expect(said()).not.toContain("heard");
    expect(await clean(sniffer)).toEqual([]);
  },
  PATIENCE_MS,
);

test(
  "then nothing of it is left; a device claims the gateway by another one, and is its owner by the cable too",
  async () => {
    const sniffer = await lab.sniff();
    await loggedIn();
    const left =
      "ip netns list | grep portcullis; systemctl is-active portcullis-access-point; ls /sys/class/net | grep wlan";
    expect(await guest.shell(left)).toBe("inactive\nwlan0\n");
    // Its minutes go on, and what it knew of the cable is forgotten.
    await guest.shell("systemctl restart --no-block portcullis");
    await guest.pull();
    const { token } = await told("claimed");
    note("power-on to the claim by the access point", seconds(guest.age));
    await guest.plug();
    await guest.until("the page", async () => (await claim()) === "over");
    owner.token = token;
    expect(await ask("GET", "access")).toMatchObject({ token: { name: "phone", owner: true } });
    await told("gone again");
    note("power-on to the end of the second access point", seconds(guest.age));
    expect(said()).not.toContain("heard");
    expect(await clean(sniffer)).toEqual([]);
  },
  PATIENCE_MS,
);

/** What the devices have said so far. */
function said(): string {
  return guest.console
    .split("\n")
    .filter((line) => line.startsWith("STATION "))
    .join("\n");
}

/** Waits for what a device says under this name. */
// biome-ignore lint/suspicious/noExplicitAny: the test's expectations say what is in it.
async function told(what: string): Promise<any> {
  const found = () => {
    const lines = said()
      .split("\n")
      .map((line) => JSON.parse(line.slice("STATION ".length) || "[]"));
    const failed = lines.find(([name]) => name === "failed");
    if (failed !== undefined) throw new Error(JSON.stringify(failed));
    return lines.find(([name]) => name === what)?.[1];
  };
  await guest.until(what, async () => found() !== undefined);
  return found();
}
