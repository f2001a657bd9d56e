import type { Device } from "../../../devices/schema.ts";
import { movedText } from "../../exit-order.ts";
import { say } from "../../language.ts";

/**
 * What becomes of the devices of a tunnel that is disconnected, if it is known how many they are: some of them have
 * another exit. The list of devices may be newer than the count.
 */
export function leftText(all: number | undefined, moved: readonly Device[], isOff: boolean): string {
  const count = all && Math.max(0, all - moved.length);
  const left = count === 0 && moved.length > 0 ? "" : isOff ? openText(count) : blockedText(count);
  return `${left} ${movedText(moved)}`.trim();
}

function blockedText(count: number | undefined): string {
  return count === undefined
    ? say(
        "Its devices at home will have no internet until you connect again: the kill switch blocks what would leave outside a tunnel.",
      )
    : say(
        "{count, plural, one {# device} other {# devices}} at home will have no internet until you connect again: the kill switch blocks what would leave outside a tunnel.",
        { count },
      );
}

function openText(count: number | undefined): string {
  return count === undefined
    ? say(
        "The kill switch is off: its devices at home will then leave outside the tunnel, without protection.",
      )
    : say(
        "The kill switch is off: {count, plural, one {# device} other {# devices}} at home will then leave outside the tunnel, without protection.",
        { count },
      );
}
