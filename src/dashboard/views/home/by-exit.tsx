import type { DeviceList } from "../../../devices/schema.ts";
import type { Network } from "../../../http/schema.ts";
import { isBlocked, isOutside } from "../../../shared/exits.ts";
import { standingOf } from "../../../shared/verdict.ts";
import { placeOf, type Tone } from "../../../shared/verdict-texts.ts";
import { sentenceFrom } from "../../../shared/words.ts";
import type { TunnelRow } from "../../../tunnel/schema.ts";
import { inItsWords } from "../../codes.ts";
import { downText } from "../../down.ts";
import { exitNow, titleOf } from "../../exit.ts";
import { someOf } from "../../format.ts";
import { say } from "../../language.ts";
import { Icon, type IconName } from "../../parts/icon.tsx";
import { ViewLink } from "../../parts/link.tsx";
import { Told } from "../../parts/told.tsx";
import { directText, openText, stoppedText, unansweredText, upText } from "../../picture/sentences.ts";
import { useIsDiverted, useIsExposed } from "../../protection.ts";

/** Who leaves through which exit. */
export function ByExit({ list, tunnels }: { list: DeviceList; tunnels: readonly TunnelRow[] }) {
  const isOff = useIsExposed();
  const isDiverted = useIsDiverted();
  const groups = Map.groupBy(list.devices, (device) => exitNow(device, list));
  if (groups.size === 0)
    return (
      <p class="quiet">
        {say("No device has been seen yet. A device appears with its first packet.")}{" "}
        <ViewLink to="setup">{say("How to point devices here")}</ViewLink>
      </p>
    );
  const exits = [...groups].toSorted(
    ([one], [two]) => Number(two === list.default_exit) - Number(one === list.default_exit),
  );
  return (
    <ul class="rows">
      {exits.map(([exit, devices]) => {
        const { icon, tone, text } = wayOf(exit, devices.length, tunnels, { isOff, isDiverted });
        return (
          <li key={exit} class={`row tone-${tone}`}>
            <Icon name={icon} />
            <div>
              <strong>{text}</strong>
              <p class="quiet">{someOf(devices.map(titleOf))}</p>
            </div>
          </li>
        );
      })}
    </ul>
  );
}

/** The gateway does not see what goes through another router. */
export function Past({ others }: { others: Network["other_routers"] }) {
  const [first] = others;
  const more = others.length - 1;
  return (
    <ul class="rows">
      <li class="row tone-partly">
        <Icon name="warning" />
        <div>
          <strong>{say("Some devices might bypass the gateway")}</strong>
          <p class="quiet">
            <Told text={inItsWords(sentenceFrom(first?.found ?? ""))} />
            {more > 0 &&
              ` ${say("The same goes for {count, plural, one {# other} other {# others}}.", { count: more })}`}
          </p>
          <ViewLink to="checks">{say("What to do")}</ViewLink>
        </div>
      </li>
    </ul>
  );
}

interface ExitLine {
  icon: IconName;
  tone: Tone;
  /** "3 devices go through Gothenburg, Sweden" */
  text: string;
}

interface Protection {
  /** Whether the kill switch is off. */
  isOff: boolean;
  isDiverted: boolean;
}

/** How so many devices go through an exit. */
function wayOf(
  exit: string,
  count: number,
  tunnels: readonly TunnelRow[],
  { isOff, isDiverted }: Protection,
): ExitLine {
  if (isDiverted && !isBlocked(exit)) return { icon: "warning", tone: "partly", text: divertedText(count) };
  if (isOutside(exit)) return { icon: "warning", tone: "partly", text: directText(count) };
  const row = tunnels.map(standingOf).find(({ name }) => name === exit);
  const place = row === undefined ? "" : placeOf(row);
  if (row?.unanswered) return { icon: "warning", tone: "partly", text: unansweredText(count, place) };
  if (row?.state === "connected") return { icon: "shield", tone: "protected", text: upText(count, place) };
  if (isOff) return { icon: "warning", tone: "exposed", text: openText(count) };
  return { icon: "blocked", tone: "blocked", text: blockedText(count, exit, row) };
}

function divertedText(count: number): string {
  return say(
    "{count, plural, one {# device} other {# devices}} might have no internet: another program’s routing rule comes first",
    { count },
  );
}

function blockedText(count: number, exit: string, row: TunnelRow | undefined): string {
  if (isBlocked(exit)) return stoppedText(count);
  const reason = downText(exit, row);
  return say("{count, plural, one {# device is blocked: {reason}} other {# devices are blocked: {reason}}}", {
    count,
    reason,
  });
}
