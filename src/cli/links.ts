import { Success } from "../http/answers.ts";
import { type HomeLink, HomeLinks, NewHomeCode } from "../remote/schema.ts";
import { shellWord } from "../shared/shell-word.ts";
import type { Api } from "./api.ts";
import type { Output } from "./api-command.ts";
import { bytesText } from "./bytes.ts";
import { deviceOf } from "./devices.ts";
import { list, printable, styled } from "./text.ts";

export async function listLinks(api: Api): Promise<Output> {
  const json = await api.get("/api/links", HomeLinks);
  return { json, text: textOf(json) };
}

export async function addLink(api: Api, name: string): Promise<Output> {
  const json = await api.post("/api/links", NewHomeCode, { name });
  const title = printable(json.name);
  return {
    json,
    text: `${json.code}\nThis code has no secrets. At ${title}, type: portcullis link take <code>\nIts answer comes back, and is taken here: portcullis link take <answer>\n`,
  };
}

export async function takeLink(api: Api, code: string, name?: string): Promise<Output> {
  const json = await api.post("/api/links/take", NewHomeCode, { code, ...(name !== undefined && { name }) });
  const title = printable(json.name);
  // The other home may have chosen it.
  const next = `To let it reach a device: portcullis link allow ${shellWord(title)} <device>\n`;
  return {
    json,
    text:
      json.code === null
        ? `This home and ${title} are linked.\n${next}`
        : `${json.code}\nGive this answer back, and it is taken there: portcullis link take <answer>\n${next}`,
  };
}

/** Lets it reach a device, or no longer. */
export async function changeReach(
  api: Api,
  [link = "", device = ""]: readonly string[],
  action: "allow" | "deny",
): Promise<Output> {
  const { id, title } = await deviceOf(api, device);
  const path = `${pathOf(link)}/devices/${encodeURIComponent(id)}`;
  const json = action === "allow" ? await api.put(path, Success) : await api.delete(path, Success);
  const now = action === "allow" ? "reaches" : "no longer reaches";
  return { json, text: `${printable(link)} ${now} ${title}.\n` };
}

/** `on` or `off`: whether it may leave here. */
export async function setLinkExit(api: Api, link: string, state: string): Promise<Output> {
  const exit = state === "on";
  const json = await api.patch(pathOf(link), Success, { exit });
  const may = exit ? "may leave here now, by its exit as a device" : "no longer leaves here";
  return { json, text: `${printable(link)} ${may}.\n` };
}

export async function removeLink(api: Api, link: string): Promise<Output> {
  return {
    json: await api.delete(pathOf(link), Success),
    text: `The link to ${printable(link)} is removed.\n`,
  };
}

function pathOf(link: string): string {
  return `/api/links/${encodeURIComponent(link)}`;
}

function textOf({ links }: HomeLinks): string {
  if (links.length === 0)
    return "There is no link to another home; to begin one: portcullis link add <name>\n";
  const waiting = links.flatMap(({ name, code, public_key }) => {
    if (code === null) return [];
    const what =
      public_key === null ? "does not have this code yet" : "has not called since it was to get this answer";
    return [`${printable(name)} ${what}:\n${code}\n`];
  });
  const faults = links.flatMap(({ name, error }) =>
    error === null ? [] : [`${printable(name)}: ${printable(error)}.\n`],
  );
  return `${list(["Home", "State", "Network", "Reaches here", "Received", "Sent"], links.map(rowOf))}${faults.join("")}${waiting.join("")}`;
}

function rowOf({ name, state, prefixes, devices, rx_bytes, tx_bytes }: HomeLink): string[] {
  return [
    styled("cyan", printable(name)),
    state === "up" ? styled("green", state) : styled("dim", state),
    prefixes.join(", ") || "-",
    devices.map((each) => printable(each.name) || each.id).join(", ") || "nothing",
    bytesText(rx_bytes),
    bytesText(tx_bytes),
  ];
}
