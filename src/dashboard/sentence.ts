import type { Destination } from "../destinations/schema.ts";
import type { DeviceList } from "../devices/schema.ts";
import type { KillSwitchLayers, Network } from "../http/schema.ts";
import { isOutside } from "../shared/exits.ts";
import { allSaid } from "../shared/saying.ts";
import { deviceFactsOf, type KillSwitchFacts, standingOf, verdictOf } from "../shared/verdict.ts";
import {
  type Around,
  type Help,
  placeOf,
  type Tone,
  textsOf,
  targetOf as toldTarget,
  viaText as toldVia,
} from "../shared/verdict-texts.ts";
import type { Status, TunnelRow } from "../tunnel/schema.ts";
import type { Connection } from "./connection.ts";
import { placeText } from "./country.ts";
import { targetsOf } from "./destination.ts";
import { timeOf } from "./format.ts";
import { say } from "./language.ts";
import { textOf, VOICE } from "./voice.ts";

/** What is known; null is not known yet. */
export interface Known {
  connection: Connection;
  /** What the gateway has said with the page, while that counts. */
  served?: Sentence | null;
  status: Status | null;
  tunnels: readonly TunnelRow[] | null;
  devices: DeviceList | null;
  /** Whether a device has sent something since that list was read. */
  haveSent?: boolean;
  killswitch: KillSwitchLayers | null;
  /** Why the kill switch's layers could not be read, if so: then it is not known whether they hold. */
  unread?: string | null;
  /** Why it is not known which devices use which tunnel, if that could not be read. */
  unlisted?: string | null;
  network: Network | null;
  destinations: readonly Destination[] | null;
}

/** The state of the home: a title, a sentence, why it is so, and what helps. */
export interface Sentence {
  tone: Tone;
  title: string;
  /** The same where there is little room, if the title is long. */
  short?: string;
  text: string;
  why: string | null;
  help: Help | null;
  /** What to type on the gateway, if only that helps. */
  command?: string;
}

export function sentenceOf(known: Known): Sentence {
  const { connection, status, served } = known;
  if (connection.name === "lost") return served ?? noAnswerSince(connection.since);
  if (status === null) return served ?? ASKING;
  const rows = known.tunnels?.map((row) => (row.name === "main" ? newest(row, status) : row));
  const tunnels = rows?.map(inTheirWords) ?? null;
  const facts = { killswitch: killSwitchIn(known, status), tunnels, devices: devicesIn(known) };
  const verdict = verdictOf<TunnelRow>(facts);
  const unread = known.killswitch === null ? known.unread : known.unlisted;
  if (verdict.name === "unknown" && unread == null) return served ?? ASKING;
  const { title, short, text, why, ...rest } = textsOf(verdict, aroundIn(known, status));
  return {
    ...rest,
    title: textOf(title),
    ...(short !== undefined && { short: textOf(short) }),
    text: allSaid(text, VOICE),
    why: (verdict.name === "unknown" ? unread : allSaid(why, VOICE)) || null,
  };
}

function noAnswerSince(since: number): Sentence {
  return {
    tone: "unknown",
    title: say("No answer"),
    text: say("The gateway has not answered since {time}.", { time: timeOf(since) }),
    why: say(
      "Check that it has power and that its cables are plugged in. The kill switch stays in place even if the gateway’s service has stopped.",
    ),
    help: null,
  };
}

/** The row of main may have been read before the status came. */
function newest(main: TunnelRow, { state, unanswered, carrying }: Status): TunnelRow {
  const { carrying: _, ...rest } = main;
  return { ...rest, state, unanswered, ...(carrying !== undefined && { carrying }) };
}

/** The country that it should lead to is in the reader's language, as that of the server is. */
function inTheirWords(row: TunnelRow): TunnelRow {
  return row.wanted === null ? row : { ...row, wanted: placeText(row.wanted) };
}

const ASKING: Sentence = {
  tone: "unknown",
  title: say("Checking"),
  text: say("Waiting for the gateway’s answer…"),
  why: null,
  help: null,
};

/** While the layers are awaited, a status without the kill switch is enough to warn of it. */
function killSwitchIn(
  { killswitch, unread }: Known,
  { killswitch_active: holds }: Status,
): KillSwitchFacts | null {
  if (killswitch !== null || unread != null || holds) return killswitch;
  const layers = (["firewall", "routing"] as const).map((name) => ({ name, holds, parts: [] }));
  return { wanted: true, layers, error: null };
}

function devicesIn({ devices: list, haveSent = false }: Known) {
  if (list === null) return null;
  return deviceFactsOf(list.devices, list, haveSent || list.devices.some(({ tx_bytes }) => tx_bytes > 0));
}

function aroundIn({ killswitch, destinations, network }: Known, status: Status): Around {
  const rules = (destinations ?? []).filter(({ exit, open }) => isOutside(exit) && open);
  return {
    error: status.error,
    online: network?.online ?? null,
    outside: {
      devices: killswitch?.direct_devices ?? status.direct_devices,
      targets: rules.flatMap(targetsOf),
    },
  };
}

/** Where a tunnel should lead; null if nowhere. */
export function targetOf(row: TunnelRow): string | null {
  const target = toldTarget(inTheirWords(row));
  return target === null ? null : textOf(target);
}

/** What a tunnel that is being connected does, and what its devices do meanwhile. */
export function connectingText(row: TunnelRow): string {
  const target = targetOf(row) ?? placeOf(row);
  return row.carrying === undefined
    ? say("Connecting to {place}…", { place: target })
    : say("Connecting to {target}… Devices still go through {place}.", {
        target,
        place: placeOf(standingOf(row)),
      });
}

/** With the server through which it is reached, if any. */
export function viaText(text: string, via: string | undefined): string {
  return textOf(toldVia(text, via));
}
