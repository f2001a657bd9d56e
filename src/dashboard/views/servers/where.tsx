import { placeOf, viaText } from "../../sentence.ts";
import type { Connecting } from "./connecting.ts";

/** Where the tunnel `main` leads, in a line; screen readers hear its changes. */
export function Where({ connecting: { main } }: { connecting: Connecting }) {
  return (
    <p class="where" role="status">
      {main === null ? "…" : lineOf(main)}
    </p>
  );
}

function lineOf(main: NonNullable<Connecting["main"]>): string {
  switch (main.state) {
    case "connected":
      return `Connected to ${viaText(`${main.server}${main.location === "" ? "" : `, ${main.location}`}`, main.via)}.`;
    case "connecting":
      return `Connecting to ${placeOf(main)}…`;
    case "reconnecting":
      return `${placeOf(main)} does not answer. The gateway keeps trying.`;
    case "failed":
    case "disconnected":
      return "Not connected. Choose a server, or a place for the nearest server there.";
  }
}
