import type { TunnelRow } from "../../tunnel/schema.ts";
import { say } from "../language.ts";
import { ViewLink } from "../parts/link.tsx";
import { tunnelLook } from "../told.ts";
import { LAND } from "./land.ts";
import { placesMapOf } from "./places.ts";

const MAX_WIDTH_PX = 608;
/** What is beside it on a phone. */
const MARGINS_PX = 66;

/** Where the tunnels lead. The outlines are for the eye only; the places are a list of links. */
export function PlacesMap({ tunnels }: { tunnels: readonly TunnelRow[] }) {
  const widthPx = Math.min(MAX_WIDTH_PX, document.documentElement.clientWidth - MARGINS_PX);
  const map = placesMapOf(tunnels, widthPx);
  if (map === null) return null;
  return (
    <section class="card">
      <h2>{say("Where the tunnels lead")}</h2>
      <div class="map">
        <svg viewBox={map.viewBox} aria-hidden="true">
          <path d={LAND} />
        </svg>
        <ul>
          {map.places.map(({ city, tunnels, left, top, isBefore, row }) => (
            <li
              key={city}
              class={`tone-${toneOf(tunnels)} ${isBefore ? "before" : ""} ${row === null ? "crowded" : ""}`}
              style={`left:${percent(left)};top:${percent(top)};--row:${row ?? 0}`}
            >
              <ViewLink to="tunnels">
                <b>{city}</b> {tunnels.map(({ name }) => name).join(", ")}
              </ViewLink>
            </li>
          ))}
        </ul>
      </div>
    </section>
  );
}

/** That of one that carries data, if there is one. */
function toneOf(tunnels: readonly TunnelRow[]): string {
  const tones = tunnels.map((row) => tunnelLook(row).tone);
  return tones.find((tone) => tone === "protected") ?? tones[0] ?? "unknown";
}

function percent(part: number): string {
  return `${(part * 100).toFixed(1)}%`;
}
