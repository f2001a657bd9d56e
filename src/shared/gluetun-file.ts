import { shellWord } from "./shell-word.ts";

/** What a `docker-compose.yml` or an `.env` of gluetun asks for, as commands of the gateway. They are shown, and not run. */
export interface GluetunFile {
  provider: string;
  commands: readonly string[];
  /** Whether one of them logs in there; otherwise its servers come from its files. */
  hasAccount: boolean;
  /** Variables of it for which there is no command. Their values are not read: some are keys. */
  left: readonly string[];
}

const MAX_LINES = 2_000;
/** Of Compose, as a list or a map; and of an env file. */
const VARIABLE = /^[ \t]*(?:-[ \t]*)?["']?([A-Z][A-Z0-9_]{2,60})["']?[ \t]*[=:](.*)$/;
/** gluetun's own variables that choose a server, and those that this gateway has no use for. */
const KNOWN =
  /^(VPN_|SERVER_|WIREGUARD_|OPENVPN_|FIREWALL_|PORT_FORWARD|DNS_|DOT|BLOCK_|HTTPPROXY|SHADOWSOCKS|UPDATER_|MULTIHOP_|OWNED_)/;
const SERVERS = ["SERVER_HOSTNAMES", "SERVER_NAMES", "SERVER_CITIES", "SERVER_COUNTRIES"] as const;
/** What needs no command: the gateway does it anyway. */
const DONE_ANYWAY = new Set(["VPN_TYPE", "FIREWALL", "VPN_SERVICE_PROVIDER", "DOT", "UPDATER_PERIOD"]);
/** The accounts of this gateway by what gluetun calls them; servers of others come from their files. */
const ACCOUNTS: ReadonlyMap<string, string> = new Map([
  ["mullvad", "mullvad"],
  ["ivpn", "ivpn"],
  ["nordvpn", "nordvpn"],
  ["private internet access", "pia"],
]);
/**
 * The name of a provider, a place or a server. Nothing else is shown: people paste commands into a shell, and what is long
 * could look like a line of its own.
 */
const NAME = /^[\p{L}\p{N}][\p{L}\p{M}\p{N} .,'()-]{0,63}$/u;

/** Null if the text is no such file. */
export function gluetunIn(text: string): GluetunFile | null {
  const variables = variablesIn(text);
  const named = variables.get("VPN_SERVICE_PROVIDER");
  if (named === undefined) return null;
  const provider = NAME.test(named) ? named : "your provider";
  const chosen = SERVERS.find((name) => NAME.test(firstOf(variables.get(name))));
  const ports = (variables.get("FIREWALL_VPN_INPUT_PORTS") ?? "")
    .split(",")
    .filter((port) => /^\d{1,5}$/.test(port.trim()));
  const account = ACCOUNTS.get(provider.toLowerCase());
  const commands = [
    ...(account === undefined ? [] : [`sudo portcullis account login --provider ${account}`]),
    ...(chosen === undefined ? [] : [`portcullis connect ${shellWord(firstOf(variables.get(chosen)))}`]),
    ...ports.map((port) => `portcullis forward DEVICE:${port.trim()}`),
  ];
  const used = new Set<string>([
    ...DONE_ANYWAY,
    ...(chosen === undefined ? [] : [chosen]),
    "FIREWALL_VPN_INPUT_PORTS",
  ]);
  const left = [...variables.keys()].filter((name) => KNOWN.test(name) && !used.has(name));
  return { provider, commands, hasAccount: account !== undefined, left };
}

function variablesIn(text: string): ReadonlyMap<string, string> {
  const lines = text.split(/\r?\n/, MAX_LINES);
  return new Map(
    lines.flatMap((line) => {
      const [, name, value = ""] = VARIABLE.exec(line) ?? [];
      return name === undefined ? [] : [[name, bare(value.trim())] as const];
    }),
  );
}

/** Without quotes and the comment after it. Of a list in a compose file, the first quote is before the variable's name. */
function bare(value: string): string {
  const [, , quoted] = /^(["'])(.*?)\1/.exec(value) ?? [];
  return quoted ?? value.replace(/(["']?[ \t]#.*|["'])$/, "").trim();
}

/** gluetun takes several, and chooses one by chance. */
function firstOf(value = ""): string {
  return value.split(",")[0]?.trim() ?? "";
}
