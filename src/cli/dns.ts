import { parseDomainName } from "../base/domain-name.ts";
import { DnsLists, type DnsListsBody, DnsStatus } from "../dns/schema.ts";
import { Success } from "../http/answers.ts";
import type { Api } from "./api.ts";
import type { Output } from "./api-command.ts";
import { deviceOf } from "./devices.ts";
import { list, printable, styled } from "./text.ts";
import { usage } from "./usage.ts";

export async function showDns(api: Api): Promise<Output> {
  const status = await api.get("/api/dns", DnsStatus);
  const lists = await api.get("/api/dns/lists", DnsLists);
  return { json: { ...status, ...lists }, text: textOf(status, lists) };
}

/** Adds or removes a list, or a name that stays open. */
export async function changeDns(
  api: Api,
  [action = "", what, ...devices]: readonly string[],
): Promise<Output> {
  if (action === "pause") return pause(api, what);
  if (what === undefined) throw usage(`missing argument: ${action} what?`);
  if (action !== "add" && devices.length > 0) throw usage("too many arguments: only add takes devices");
  const known = await api.get("/api/dns/lists", DnsLists);
  const before: DnsListsBody = {
    lists: known.lists.map(({ url, devices: ids, on }) => ({ url, devices: ids, on })),
    exceptions: known.exceptions,
    private_names: known.private_names,
    block_doh: known.block_doh,
  };
  const ids = await Promise.all(devices.map(async (each) => (await deviceOf(api, each)).id));
  const json = await api.put("/api/dns/lists", Success, changed(before, action, what, ids));
  return { json, text: `${DONE[action]?.(printable(what))}\n` };
}

/** What `dns doh` takes. */
const DOH = { block: true, open: false } as const;

const DONE: Record<string, (what: string) => string> = {
  add: (what) => `Added ${what}. It is fetched through the tunnel; to see it: portcullis dns`,
  remove: (what) => `Removed ${what}.`,
  on: (what) => `${what} blocks.`,
  off: (what) => `${what} blocks nothing until it is turned on again.`,
  open: (what) => `No list blocks ${what} now, nor the names below it.`,
  doh: (what) =>
    what === "block"
      ? "The names of well-known resolvers that answer by HTTPS are blocked."
      : "The names of resolvers that answer by HTTPS are open, unless a list has them.",
  private: (what) => `${what} and the names below it may have addresses of the home now.`,
  public: (what) => `Addresses of the home are left out of answers for ${what} again.`,
  close: (what) => `Lists block ${what} again if they name it.`,
};

function changed(before: DnsListsBody, action: string, what: string, devices: string[]): DnsListsBody {
  const { lists, exceptions = [], private_names: privateNames = [] } = before;
  const name = parseDomainName(what) ?? what;
  switch (action) {
    case "add":
      return { ...before, lists: [...lists.filter(({ url }) => url !== what), { url: what, devices }] };
    case "remove":
      if (!lists.some(({ url }) => url === what)) throw usage(`there is no list ${printable(what)}`);
      return { ...before, lists: lists.filter(({ url }) => url !== what) };
    case "on":
    case "off":
      if (!lists.some(({ url }) => url === what)) throw usage(`there is no list ${printable(what)}`);
      return {
        ...before,
        lists: lists.map((each) => (each.url === what ? { ...each, on: action === "on" } : each)),
      };
    case "doh":
      if (what !== "block" && what !== "open") throw usage("doh: must be block or open");
      return { ...before, block_doh: DOH[what] };
    case "open":
      return { ...before, exceptions: [...exceptions.filter((each) => each !== name), name] };
    case "private":
      return { ...before, private_names: [...privateNames.filter((each) => each !== name), name] };
    case "public":
      if (!privateNames.includes(name)) throw usage(`${printable(what)} is not among the private names`);
      return { ...before, private_names: privateNames.filter((each) => each !== name) };
    default:
      if (!exceptions.includes(name)) throw usage(`${printable(what)} is not among the open names`);
      return { ...before, exceptions: exceptions.filter((each) => each !== name) };
  }
}

async function pause(api: Api, text = "5"): Promise<Output> {
  if (!/^\d{1,3}$/.test(text)) throw usage("pause: must be minutes, such as 5");
  const minutes = Number(text);
  const json = await api.post("/api/dns/pause", Success, { minutes });
  const said = minutes === 0 ? "The lists block again." : `No list blocks for ${minutes} minutes.`;
  return { json, text: `${said}\n` };
}

const STATES: Record<DnsStatus["state"], string> = {
  on: "The gateway answers the LAN's queries itself.",
  off: "The resolvers of the tunnels answer the LAN's queries: no list needs another one.",
  elsewhere: "Another resolver of this machine answers the LAN's queries, so lists have no effect.",
  failed: "The gateway's resolver cannot listen, so the LAN's queries are refused.",
};

function textOf(
  status: DnsStatus,
  { lists, exceptions, private_names: privateNames, block_doh: blockDoh }: DnsLists,
): string {
  const {
    state,
    reason,
    asked,
    local,
    cached,
    blocked,
    refused,
    failed,
    devices: askers,
    paused_until: until,
    logged_until: logged,
  } = status;
  const rows = lists.map(({ url, names, skipped, fetched_at, devices, on, error }) => [
    printable(url),
    String(names),
    String(skipped),
    fetched_at === null ? "never" : fetched_at.slice(0, 16).replace("T", " "),
    devices.length === 0 ? "all" : printable(devices.join(", ")),
    on ? styled("red", printable(error ?? "")) : "off",
  ]);
  return [
    `${STATES[state]}${reason === null ? "" : ` ${printable(reason)}`}\n`,
    ...(state === "on"
      ? [
          `Since the start: ${asked} asked, ${local} of the home, ${cached} from memory, ${blocked} blocked, ${refused} refused, ${failed} failed\n`,
        ]
      : []),
    ...(state === "on" && askers.length > 0
      ? [list(["Device", "Asked", "Blocked"], askers.slice(0, MOST).map(cellsOf))]
      : []),
    ...(until === null ? [] : [`No list blocks until ${until.slice(11, 16)} UTC.\n`]),
    ...(logged === null ? [] : [`Queries are logged until ${logged.slice(11, 16)} UTC.\n`]),
    ...(blockDoh ? ["The names of well-known resolvers that answer by HTTPS are blocked.\n"] : []),
    ...(rows.length === 0 ? [] : [list(["List", "Names", "Not understood", "Fetched", "Devices", ""], rows)]),
    ...(exceptions.length === 0 ? [] : [`Always open: ${printable(exceptions.join(", "))}\n`]),
    ...(privateNames.length === 0
      ? []
      : [`May have addresses of the home: ${printable(privateNames.join(", "))}\n`]),
  ].join("");
}

/** Those that ask most. All are in the JSON. */
const MOST = 10;

function cellsOf({ id, name, asked, blocked }: DnsStatus["devices"][number]): string[] {
  return [printable(name || id), String(asked), String(blocked)];
}
