import { parseAddress } from "../base/address.ts";
import { CommandError } from "../base/errors.ts";
import { parseMac } from "../base/mac.ts";
import { DeviceList } from "../devices/schema.ts";
import { Forward, ForwardList } from "../forwards/schema.ts";
import { Success } from "../http/answers.ts";
import { tunnelTitle } from "../shared/words.ts";
import type { Api } from "./api.ts";
import type { Output } from "./api-command.ts";
import { deviceOf } from "./devices.ts";
import { EXIT } from "./exit.ts";
import { list, printable, styled } from "./text.ts";
import { usage } from "./usage.ts";

export interface ForwardFlags {
  tcp?: true;
  udp?: true;
  external?: string;
}

export async function listForwards(api: Api): Promise<Output> {
  const json = await api.get("/api/forwards", ForwardList);
  if (json.forwards.length === 0)
    return { json, text: "No port is forwarded. To forward one: portcullis forward <device>:<port>\n" };
  const errors = json.forwards.flatMap((each) =>
    each.error === null ? [] : [`${titleOf(each)}: ${errorOf(each)}\n`],
  );
  const heading = ["Device", "Port", "State", "External", "Tunnel", "By"];
  return { json, text: `${list(heading, json.forwards.map(rowOf))}${errors.join("")}` };
}

export async function changeForward(
  api: Api,
  [target = "", action]: readonly string[],
  { tcp, udp, external }: ForwardFlags,
): Promise<Output> {
  const { device, port } = await targetOf(api, target);
  // Programs that need a port usually need it for both.
  const protocols = (["tcp", "udp"] as const).filter((each) => (each === "tcp" ? tcp : udp) ?? tcp === udp);
  const path = (protocol: string) => `/api/forwards/${encodeURIComponent(device)}/${protocol}/${port}`;
  if (action === "remove") {
    if (external !== undefined) throw usage("--external is for a new forward only");
    return removeForwards(api, `${target}`, await present(api, { device, port, protocols }), path);
  }
  const body = external === undefined ? {} : { external: portIn(external, "--external") };
  const before = await forwardsOf(api, { device, port, protocols });
  const forwards: Forward[] = [];
  for (const protocol of protocols) forwards.push(await api.put(path(protocol), Forward, body));
  const isOpen = forwards.every(({ state }) => state === "open");
  return {
    json: { forwards },
    text: [...before.flatMap((each) => endedText(each, forwards)), ...forwards.map(sentenceOf)].join(""),
    code: isOpen ? EXIT.ok : EXIT.failed,
  };
}

interface Wanted {
  device: string;
  port: number;
  protocols: readonly string[];
}

async function forwardsOf(api: Api, { device, port, protocols }: Wanted): Promise<Forward[]> {
  const { forwards } = await api.get("/api/forwards", ForwardList);
  return forwards.filter(
    (each) => each.device === device && each.port === port && protocols.includes(each.protocol),
  );
}

/** Without a protocol, all existing ones are removed. */
async function present(api: Api, wanted: Wanted): Promise<string[]> {
  const found = await forwardsOf(api, wanted);
  if (found.length > 0) return found.map(({ protocol }) => protocol);
  throw new CommandError("unable", "this port is not forwarded; to list those that are: portcullis forwards");
}

/** A port that was set on the provider's site leads nowhere once the forward has another one. */
function endedText(before: Forward, now: readonly Forward[]): string[] {
  const { fixed } = now.find(({ protocol }) => protocol === before.protocol) ?? before;
  if (before.fixed === null || before.fixed === fixed) return [];
  return [`${before.protocol.toUpperCase()} port ${before.fixed} no longer leads to ${titleOf(before)}.\n`];
}

async function removeForwards(
  api: Api,
  target: string,
  protocols: readonly string[],
  path: (protocol: string) => string,
): Promise<Output> {
  for (const protocol of protocols) await api.delete(path(protocol), Success);
  return {
    json: { success: true },
    text: `${printable(target)} (${protocols.join(" and ")}) is no longer forwarded.\n`,
  };
}

/** MAC addresses have colons too: the port is after the last one. */
async function targetOf(api: Api, target: string): Promise<{ device: string; port: number }> {
  const [, name = "", port = ""] = /^(.+):(\d+)$/.exec(target) ?? [];
  if (name === "" || parseMac(target) !== null)
    throw usage("give a device and its port, such as TV:6881; to list the devices: portcullis devices");
  return { device: await idOf(api, name), port: portIn(port, "port") };
}

async function idOf(api: Api, name: string): Promise<string> {
  const address = parseAddress(name.replace(/^\[|\]$/g, ""));
  if (address === null) return (await deviceOf(api, name)).id;
  const { devices } = await api.get("/api/devices", DeviceList);
  const found = devices.find(({ addresses }) => addresses.includes(address));
  if (found !== undefined) return found.id;
  throw new CommandError("unable", `no device has the address ${address}; to list them: portcullis devices`);
}

function portIn(text: string, field: string): number {
  const port = /^[0-9]{1,5}$/.test(text) ? Number(text) : 0;
  if (port >= 1 && port <= 65_535) return port;
  throw usage(`${field}: must be a number from 1 to 65535`);
}

function sentenceOf(forward: Forward): string {
  const { external, address, tunnel, protocol, state } = forward;
  const title = titleOf(forward);
  if (state === "open") {
    const where =
      address === null
        ? `at the server of the ${tunnelTitle(tunnel ?? "")}`
        : `of ${address}, the server of the ${tunnelTitle(tunnel ?? "")},`;
    return `${protocol.toUpperCase()} port ${external} ${where} leads to ${title}.\n`;
  }
  const why = state === "opening" ? "the provider was asked, and has not answered yet" : errorOf(forward);
  return `${title} is not open yet: ${why}\nThe forward is kept: portcullis forwards shows when it is open.\n`;
}

function titleOf({ name, device, port, protocol }: Forward): string {
  return `${printable(name) || device}:${port} (${protocol})`;
}

function errorOf({ error }: Forward): string {
  return printable(error ?? "");
}

function rowOf(forward: Forward): string[] {
  const { name, device, port, protocol, state, external, fixed, tunnel, asked_by } = forward;
  return [
    styled("cyan", printable(name) || device),
    `${port}/${protocol}`,
    state === "open" ? styled("green", state) : styled(state === "closed" ? "red" : "yellow", state),
    String(external ?? fixed ?? "-"),
    tunnel ?? "-",
    asked_by === "device" ? "the device" : "you",
  ];
}
