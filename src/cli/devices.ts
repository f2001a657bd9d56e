import { type Device, DeviceList } from "../devices/schema.ts";
import { GatewayError } from "../errors.ts";
import { Success } from "../http/answers.ts";
import { parseMac } from "../mac.ts";
import type { Api } from "./api.ts";
import type { Said } from "./asking.ts";
import { printable, styled, table } from "./text.ts";

export async function listDevices(api: Api, only: { names?: true; exits?: true }): Promise<Said> {
  const json = await api.get("/api/devices", DeviceList);
  if (only.names) return { json, text: linesOf(json.devices.flatMap(({ id, name }) => [id, name])) };
  if (only.exits) return { json, text: linesOf(json.exits) };
  return { json, text: textOf(json) };
}

export async function nameDevice(api: Api, device: string, name: string): Promise<Said> {
  const id = await idOf(api, device);
  const json = await api.put(pathOf(id), Success, { name });
  return { json, text: `${id} is ${printable(name)} now.\n` };
}

export async function moveDevice(api: Api, device: string, exit: string): Promise<Said> {
  const id = await idOf(api, device);
  const json = await api.put(pathOf(id), Success, { exit });
  return { json, text: `The exit of ${id} is ${printable(exit)} now.\n` };
}

export async function setDefaultExit(api: Api, exit: string): Promise<Said> {
  const json = await api.put("/api/default-exit", Success, { exit });
  return { json, text: `Devices without an exit of their own have the exit ${printable(exit)} now.\n` };
}

/**
 * People name a device by its name, if no other has it. What is neither is sent as it is, for the gateway to judge. A MAC
 * address is never a name: a device can tell the DHCP server one of another as its name.
 */
async function idOf(api: Api, device: string): Promise<string> {
  const mac = parseMac(device);
  if (mac !== null) return mac;
  const { devices } = await api.get("/api/devices", DeviceList);
  const folded = device.normalize("NFC").toLowerCase();
  const named = devices.filter(({ name }) => name.toLowerCase() === folded);
  if (named.length > 1)
    throw new GatewayError(
      "bad_request",
      `several devices have this name; give one of these ids: ${named.map(({ id }) => id).join(", ")}`,
    );
  return named[0]?.id ?? device;
}

function pathOf(id: string): string {
  return `/api/devices/${encodeURIComponent(id)}`;
}

/** For completion. */
function linesOf(words: readonly string[]): string {
  return words
    .filter((word) => word !== "")
    .map((word) => `${printable(word)}\n`)
    .join("");
}

function textOf({ devices, default_exit }: DeviceList): string {
  const rest = `Default exit: ${default_exit}\n`;
  return devices.length === 0
    ? `No device has been seen yet.\n${rest}`
    : `${table(devices.map(rowOf))}${rest}`;
}

function rowOf({ id, name, addresses, exit, assigned, online }: Device): string[] {
  return [
    online ? styled("green", "online") : styled("dim", "offline"),
    id,
    styled("cyan", printable(name) || "-"),
    assigned ? exit : styled("dim", `${exit} (default)`),
    addresses.join(" "),
  ];
}
