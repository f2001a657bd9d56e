import { CommandError } from "../base/errors.ts";
import { type LanNetwork, type LanNetworkChange, LanNetworkList } from "../devices/network-schema.ts";
import { Success } from "../http/answers.ts";
import { rateText } from "../shared/rates.ts";
import type { Api } from "./api.ts";
import type { Output } from "./api-command.ts";
import { quotaIn, quotaOf, rateIn, whatHappens } from "./devices.ts";
import { list, printable, styled } from "./text.ts";
import { usage } from "./usage.ts";

export async function listNetworks(api: Api, names = false): Promise<Output> {
  const json = await api.get("/api/networks", LanNetworkList);
  if (names) {
    const words = json.networks.flatMap((each) => [each.interface, each.name]);
    return { json, text: words.map((word) => (word === "" ? "" : `${printable(word)}\n`)).join("") };
  }
  return { json, text: textOf(json) };
}

/** Shows what a network reaches without an action, and changes it otherwise. */
export async function changeNetwork(
  api: Api,
  [network = "", action = "", text, end]: readonly string[],
): Promise<Output> {
  if (end !== undefined && action !== "quota") throw usage("too many arguments: only a quota has an end");
  const json = await api.get("/api/networks", LanNetworkList);
  const found = networkIn(json.networks, network);
  const title = titleOf(found);
  if (action === "") return { json: found, text: textOf({ ...json, networks: [found] }) };
  const path = `/api/networks/${encodeURIComponent(found.interface)}`;
  if (action === "forget") {
    if (text !== undefined) throw usage("too many arguments: forget takes no value");
    return { json: await api.delete(path, Success), text: `${title} is forgotten.\n` };
  }
  if (text === undefined) throw usage(`missing argument: which ${action}?`);
  const { body, told } = changeOf(action, text, end);
  return { json: await api.put(path, Success, body), text: `${told(title)}\n` };
}

interface Change {
  body: LanNetworkChange;
  told: (title: string) => string;
}

function changeOf(action: string, text: string, end?: string): Change {
  switch (action) {
    case "exit":
      return exitOf(text);
    case "page":
      return isOn(text)
        ? { body: { page: true }, told: (title) => `Devices of ${title} may use the page now.` }
        : {
            body: { page: false },
            told: (title) => `Devices of ${title} get only DNS and DHCP from the gateway now.`,
          };
    case "others":
      return isOn(text)
        ? {
            body: { others: true },
            told: (title) => `${title} and the other networks that have this reach each other now.`,
          }
        : { body: { others: false }, told: (title) => `${title} reaches no other network now.` };
    case "rate": {
      const rate = rateIn(text);
      const now = rate === null ? "have no limit together now" : `are limited to ${rateText(rate)} together`;
      return { body: { rate }, told: (title) => `The devices of ${title} ${now}.` };
    }
    case "quota": {
      const quota = quotaIn(text, end);
      const now = quota === null ? "have no quota together now" : whatHappens(quota, true);
      return { body: { quota }, told: (title) => `The devices of ${title} ${now}.` };
    }
    default:
      return {
        body: { name: text === "off" ? null : text },
        told: () => (text === "off" ? "It has no name now." : `It is now ${printable(text)}.`),
      };
  }
}

/** Several are taken in their order. */
function exitOf(text: string): Change {
  if (text === "default")
    return { body: { exit: null }, told: (title) => `${title} has the home's default exit now.` };
  const exits = text.split(",").map((each) => each.trim());
  const order = exits.map(printable).join(", then ");
  return {
    body: { exit: exits },
    told: (title) =>
      `The exit of ${title} is now ${exits.length === 1 ? order : `the first that is up of ${order}`}.`,
  };
}

function isOn(text: string): boolean {
  if (text !== "on" && text !== "off") throw usage("value: must be on or off");
  return text === "on";
}

/** By its interface, or by its name if no other has it. */
export function networkIn(networks: readonly LanNetwork[], text: string): LanNetwork {
  const folded = text.normalize("NFC").toLowerCase();
  const known = networks.find((each) => each.interface === text);
  const named = networks.filter(({ name }) => name.toLowerCase() === folded);
  const [found, ...others] = known === undefined ? named : [known];
  if (found === undefined)
    throw new CommandError(
      "unable",
      "no network has this interface or name; to list them: portcullis networks",
    );
  if (others.length > 0) {
    const links = [found, ...others].map((each) => each.interface).join(", ");
    throw usage(`several networks have this name; give one of these interfaces: ${links}`);
  }
  return found;
}

function titleOf({ interface: link, name }: LanNetwork): string {
  return name === "" ? printable(link) : `${printable(name)} (${printable(link)})`;
}

function textOf({ networks, default_exit }: LanNetworkList): string {
  const rest = `Default exit, for networks without one of their own: ${default_exit}\n`;
  if (networks.length === 0) return `There is no LAN yet.\n${rest}`;
  const rows = networks.map((network) => [
    styled("cyan", printable(network.name) || "-"),
    printable(network.interface),
    exitText(network),
    `${network.devices}`,
    network.page ? "yes" : "no",
    reachText(network),
  ]);
  return [
    list(["Network", "Interface", "Exit", "Devices", "Page", "Reaches"], rows),
    ...networks.flatMap(togetherText),
    rest,
  ].join("");
}

/** What its devices have together. */
function togetherText(network: LanNetwork): string[] {
  const { rate, quota } = network;
  return [
    ...(rate === undefined ? [] : [`Limit of ${titleOf(network)}, together: ${rateText(rate)}\n`]),
    ...(quota === undefined ? [] : [`Quota of ${titleOf(network)}, together: ${quotaOf(quota)}\n`]),
  ];
}

function exitText({ exit, exit_order: order, assigned }: LanNetwork): string {
  if (!assigned) return `${exit} (default)`;
  return order === undefined ? exit : `${exit} (of ${order.join(", ")})`;
}

function reachText({ present, others, reaches }: LanNetwork): string {
  if (!present) return styled("dim", "not there");
  if (reaches.length > 0) return reaches.map(printable).join(", ");
  return others ? "none yet" : "-";
}
