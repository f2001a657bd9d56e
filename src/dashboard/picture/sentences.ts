import { bitRateOf, listOf } from "../format.ts";
import { say } from "../language.ts";
import type { PicturedExit } from "./home-now.ts";
import type { Lane, Row, Strand } from "./model.ts";

/** What the picture shows of a row: "2 devices go through main to Gothenburg, Sweden, and 1 device is blocked". */
export function rowSentence(row: Row, exits: ReadonlyMap<string, PicturedExit>): string {
  if (row.isOpen) return "";
  const parts = row.strands.map((each) => strandText(each, exits.get(each.lane)));
  const text = listOf(parts);
  return row.rate === 0 ? text : say("{text}: {rate}", { text, rate: bitRateOf(row.rate) });
}

function strandText({ count, look }: Strand, exit: PicturedExit | undefined): string {
  return leaving(count, look, exit?.place ?? "");
}

/** What stands above a line: "9 devices through main". */
export function laneTitle({ count, look, exit }: Lane): string {
  switch (look) {
    case "open":
    case "silent":
      return say("{count, plural, =0 {No device} one {# device} other {# devices}} through {exit}", {
        count,
        exit: exit.name,
      });
    case "closed":
      return say(
        "{count, plural, =0 {No device waits} one {# device waits} other {# devices wait}} for {exit}",
        {
          count,
          exit: exit.name,
        },
      );
    case "direct":
    case "outside":
      return say("{count, plural, =0 {No device} one {# device} other {# devices}}", { count });
  }
}

/** What a screen reader says of an exit, and what stands below the picture. A tunnel that is down has no place. */
export function exitSentence(lane: Lane): string {
  const { count, look, exit } = lane;
  return look === "closed" && exit.isTunnel ? laneTitle(lane) : leaving(count, look, exit.place);
}

function leaving(count: number, look: Lane["look"], place: string): string {
  switch (look) {
    case "open":
      return upText(count, place);
    case "silent":
      return unansweredText(count, place);
    case "closed":
      return stoppedText(count);
    case "direct":
      return directText(count);
    case "outside":
      return openText(count);
  }
}

export function upText(count: number, place: string): string {
  return say("{count, plural, one {# device goes through {place}} other {# devices go through {place}}}", {
    count,
    place,
  });
}

export function unansweredText(count: number, place: string): string {
  return say(
    "{count, plural, one {# device goes through {place}, which carries no data} other {# devices go through {place}, which carries no data}}",
    { count, place },
  );
}

export function stoppedText(count: number): string {
  return say("{count, plural, one {# device is blocked} other {# devices are blocked}}", { count });
}

export function directText(count: number): string {
  return say(
    "{count, plural, one {# device leaves outside every tunnel} other {# devices leave outside every tunnel}}",
    { count },
  );
}

export function openText(count: number): string {
  return say(
    "{count, plural, one {# device} other {# devices}} might leave outside the tunnel: the kill switch is off",
    { count },
  );
}
