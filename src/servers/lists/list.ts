import { refused } from "../refusals.ts";
import type { Adapter, Reading } from "./entry.ts";
import { readGluetun, readGluetunContents, readGluetunProvider } from "./gluetun.ts";
import { readIvpn } from "./ivpn.ts";
import { readMullvad } from "./mullvad.ts";
import { readMullvadApp } from "./mullvad-app.ts";
import { readNordvpn } from "./nordvpn.ts";
import { readOwn } from "./own.ts";
import { readPia } from "./pia.ts";

/** A provider's servers, and the format of their list. */
export interface List extends Reading {
  format: string;
}

/** The more specific formats come first, because gluetun's files are also objects with `servers`. */
const FORMATS: readonly (readonly [format: string, adapter: Adapter])[] = [
  ["Mullvad's flat list", readMullvad],
  ["Mullvad's app list", readMullvadApp],
  ["NordVPN's list", readNordvpn],
  ["IVPN's list", readIvpn],
  ["PIA's list", readPia],
  ["a gluetun file of one provider", readGluetunProvider],
  ["Portcullis's own list", readOwn],
  ["gluetun's servers.json", readGluetun],
  ["gluetun's table of contents, which names the files to read instead", readGluetunContents],
];

/** 50,000 servers in the most verbose format, Mullvad's flat one, take 25 MB. */
const MAX_BYTES = 32 * 2 ** 20;

/** The same 50,000 have 1.2 million. Some texts within the limit of bytes would take gigabytes once parsed. */
const MAX_VALUES = 2_000_000;

/** Providers have fewer than 10,000; 50,000 take some 40 MiB of a Pi's memory. */
const MAX_SERVERS = 50_000;

/**
 * Reads a list in any of the known formats. Throws `bad_request` if the text is not a list, and `unable` if the gateway
 * cannot use the list.
 */
export function readList(text: string): List {
  if (Buffer.byteLength(text) > MAX_BYTES) throw refused("list_too_large", { max: MAX_BYTES / 2 ** 20 });
  if (valuesIn(text) > MAX_VALUES) throw refused("list_too_long", { of: "values", max: MAX_VALUES });
  const document = documentIn(text);
  for (const [format, adapter] of FORMATS) {
    const reading = adapter(document);
    if (reading !== null) return usable({ format, ...reading });
  }
  throw refused("list_unknown");
}

/** An upper bound on the number of values in the JSON: each follows a comma or is the first of an array or object. */
function valuesIn(text: string): number {
  let count = 1;
  for (let at = 0; at < text.length; at++) {
    const code = text.charCodeAt(at);
    if (code === COMMA || code === BRACKET || code === BRACE) count++;
  }
  return count;
}

const [COMMA, BRACKET, BRACE] = [0x2c, 0x5b, 0x7b];

function documentIn(text: string): unknown {
  const bare = text.replace(/^\uFEFF/, "");
  try {
    return JSON.parse(isSigned(bare) ? bare.slice(0, bare.indexOf("\n")) : bare);
  } catch {
    throw refused("list_not_json");
  }
}

/** PIA's list is one line, with a signature in base64 after it. */
function isSigned(text: string): boolean {
  const line = text.indexOf("\n");
  return line > 0 && /^[A-Za-z0-9+/=\s]{64,}$/.test(text.slice(line, line + MAX_SIGNATURE));
}

const MAX_SIGNATURE = 4_096;

function usable(list: List): List {
  const { format, servers } = list;
  if (servers.length === 0) throw refused("list_without_servers", { format });
  if (servers.length > MAX_SERVERS) throw refused("list_too_long", { of: format, max: MAX_SERVERS });
  return list;
}
