import { expect } from "bun:test";
import { INTERNET } from "../../../src/sandbox/topology.ts";
import { flash } from "./flashed-image.ts";
import { guest, image, lab, leaks, note, seconds } from "./stage.ts";

/** As a phone and a laptop would; the certificate is the gateway's own. */
export const OWNER = { name: "laptop", passphrase: "correct horse battery" };

/** Tries to reach the internet from the first moment on. */
export const EAGER = {
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

/** The control: by that image packets leave, and the sniffer sees them. */
export async function leaksWithout(): Promise<void> {
  guest.powerOn(undefined, WITHOUT);
  await leaks();
  note("power-on to the first packet outside, without the kill switch", seconds(guest.age));
  await guest.powerOff();
}

/** The token of the browser that owns the gateway; empty as long as none does. */
export const owner = { token: "" };

/** Turns on a card that was just written. */
export async function firstStart(): Promise<void> {
  await guest.powerOff();
  await flash(image);
  guest.powerOn(undefined, EAGER);
}

/** Returns once the page can be claimed; the milliseconds since power came on. */
export function claimable(): Promise<number> {
  return guest.until("the page", async () => (await claim()) === "open");
}

/** Whether the page says that it can be claimed; empty if it does not answer. */
export async function claim(): Promise<string> {
  const answer = await curl([`${origin()}/api/owner/claim`]);
  return answer === "" ? "" : JSON.parse(answer).claim;
}

/** Becomes the owner. */
export async function claimIt(): Promise<void> {
  ({ token: owner.token } = await ask("POST", "owner/claim", OWNER));
}

/** Fails unless a browser that has no token is refused. */
export async function isOver(): Promise<void> {
  const data = ["-H", "content-type: application/json", "--data-binary", JSON.stringify(OWNER)];
  const refused = JSON.parse(await curl([...data, `${origin()}/api/owner/claim`]));
  expect(refused.error).toContain("a browser can claim this gateway once");
  expect(await claim()).toBe("over");
}

export function origin(): string {
  return `https://${guest.address}`;
}

// biome-ignore lint/suspicious/noExplicitAny: the test's expectations say what is in it.
export async function ask(method: string, path: string, body?: object): Promise<any> {
  const { token } = owner;
  const headers = token === "" ? [] : ["-H", `authorization: Bearer ${token}`];
  const data = ["-H", "content-type: application/json", "--data-binary", JSON.stringify(body)];
  return JSON.parse(
    await curl(["-X", method, ...headers, ...(body === undefined ? [] : data), `${origin()}/api/${path}`]),
  );
}

/** From a device of the LAN. */
export async function curl(argv: string[]): Promise<string> {
  return (await lab.exec(guest.seat, ["curl", "-sk", "-m", "60", ...argv])).stdout;
}
