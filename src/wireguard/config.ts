import { FILE_WORDS, kindOfText } from "../shared/foreign-files.ts";
import { AMNEZIA_NAMES, amneziaKey, isLeftOut } from "./amnezia.ts";
import type { AmneziaName } from "./amnezia-schema.ts";
import type { Field } from "./fields.ts";
import { configFrom, EVERYTHING, type FieldName } from "./fieldset.ts";
import { isHook, isInert, lacking } from "./foreign.ts";
import { type Line, linesOf, lowerCased, shown } from "./ini.ts";
import { resolversOutside } from "./led.ts";
import { refused } from "./refusals.ts";
import { type Config, MAX_KEEPALIVE_SECONDS } from "./schema.ts";

type Section = "Interface" | "Peer";

/** The keys that the gateway uses, in the order of a file. */
const KEYS: Record<FieldName, { section: Section; key: string }> = {
  privateKey: { section: "Interface", key: "PrivateKey" },
  addresses: { section: "Interface", key: "Address" },
  dns: { section: "Interface", key: "DNS" },
  mtu: { section: "Interface", key: "MTU" },
  ...(Object.fromEntries(
    AMNEZIA_NAMES.map((name) => [name, { section: "Interface", key: amneziaKey(name) }]),
  ) as Record<AmneziaName, { section: Section; key: string }>),
  publicKey: { section: "Peer", key: "PublicKey" },
  presharedKey: { section: "Peer", key: "PresharedKey" },
  endpoint: { section: "Peer", key: "Endpoint" },
  allowedIps: { section: "Peer", key: "AllowedIPs" },
  persistentKeepalive: { section: "Peer", key: "PersistentKeepalive" },
};

const BY_KEY: ReadonlyMap<string, FieldName> = new Map(
  (Object.keys(KEYS) as FieldName[]).map((name) => [lowerCased(KEYS[name].key), name]),
);

const NAMES = mapped(({ section, key }) => `[${section}]: ${key}`);

/** The configuration that a wg-quick file describes, and warnings about settings that have no effect here. */
export function parseConfig(text: string): { config: Config; warnings: string[] } {
  const fields = mapped((): Field[] => []);
  const warnings: string[] = [];
  let section: Section | null = null;
  let peers = 0;
  const kind = kindOfText(text);
  if (kind !== null && kind !== "empty") throw refused("config_of_kind", { reason: FILE_WORDS[kind] });
  for (const line of linesOf(text)) {
    if (line.kind === "section") {
      section = sectionOf(line);
      if (section === "Peer") peers += 1;
      if (peers > 1) throw refused("config_with_peers", { field: `line ${line.number}: [Peer]` });
      continue;
    }
    const field = { text: line.value, where: `line ${line.number}: ${shown(line.name)}` };
    const name = nameOf(line, section, field);
    if (name === "inert") warnings.push(`${field.where}: has no effect; the gateway sets this itself`);
    else fields[name].push(field);
  }
  if (peers === 0) throw refused("config_without_peer");
  const config = configFrom(fields, NAMES);
  return { config, warnings: [...warnings, ...warningsOf(config, fields)] };
}

function sectionOf(line: Line): Section {
  const name = lowerCased(line.name);
  if (name === "interface") return "Interface";
  if (name === "peer") return "Peer";
  throw refused("config_section_unknown", { field: `line ${line.number}: [${shown(line.name)}]` });
}

/** The field that a line sets; `inert` if the key is known but has no effect here. */
function nameOf(line: Line, section: Section | null, field: Field): FieldName | "inert" {
  const key = lowerCased(line.name);
  if (section === null) throw refused("config_before_section", { field: field.where });
  if (isHook(key)) throw refused("config_command", { field: field.where });
  const lack = lacking(key);
  if (lack !== null) throw refused("config_unsupported", { field: field.where, reason: lack });
  const name = BY_KEY.get(key);
  if (field.text === "" && !isLeftOut(name ?? "", field))
    throw refused("config_empty", { field: field.where, of: "all" });
  if (isInert(section, key, field)) return "inert";
  if (name === undefined) throw refused("config_key_unknown", { field: field.where, section });
  if (KEYS[name].section !== section)
    throw refused("config_section_wrong", {
      field: field.where,
      section: KEYS[name].section,
      other: section,
    });
  return name;
}

function warningsOf(config: Config, fields: Record<FieldName, Field[]>): string[] {
  const domains = config.interface.searchDomains.length > 0;
  const where = fields.dns.at(-1)?.where;
  const { persistentKeepalive } = config.peer;
  const keepalive = fields.persistentKeepalive.at(-1)?.where;
  const rare = persistentKeepalive !== undefined && persistentKeepalive > MAX_KEEPALIVE_SECONDS;
  return [
    ...(domains ? [`${where}: search domains have no effect; the gateway only redirects queries`] : []),
    ...resolversOutside(config).map(
      (address) => `${where}: ${address} is not in AllowedIPs; it is led into the tunnel all the same`,
    ),
    ...(persistentKeepalive === 0
      ? [`${keepalive}: keepalives are sent anyway, to detect when the server is dead`]
      : []),
    ...(rare
      ? [
          `${keepalive}: a keepalive is sent every ${MAX_KEEPALIVE_SECONDS} s, to detect when the server is dead`,
        ]
      : []),
    ...(fields.allowedIps.length === 0 ? [`AllowedIPs is missing: ${EVERYTHING.join(", ")} is used`] : []),
  ];
}

function mapped<T>(make: (key: { section: Section; key: string }) => T): Record<FieldName, T> {
  return Object.fromEntries(Object.entries(KEYS).map(([name, key]) => [name, make(key)])) as Record<
    FieldName,
    T
  >;
}
