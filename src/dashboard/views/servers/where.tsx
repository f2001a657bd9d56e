import { sentenceFrom } from "../../format.ts";
import { leadAgain } from "../../lead-again.ts";
import { Button } from "../../parts/button.tsx";
import { placeOf, targetOf, viaText } from "../../sentence.ts";
import { type Connecting, plainly } from "./connecting.ts";

/** Where the tunnel `main` leads, or why it does not; screen readers hear its changes. */
export function Where({ connecting: { main, action } }: { connecting: Connecting }) {
  // The row that was clicked shows it too.
  const why = main?.state === "failed" && action.outcome === null ? main.error : null;
  return (
    <div class="where">
      <p role="status">
        {main === null ? "…" : lineOf(main)}
        {why !== null && ` ${sentenceFrom(why)}`}
      </p>
      {main?.state === "failed" && main.wanted !== null && (
        <Button
          kind="primary"
          doing={`Connecting to ${targetOf(main)}…`}
          work={() => plainly(leadAgain(main))}
        >
          Try again
        </Button>
      )}
    </div>
  );
}

function lineOf(main: NonNullable<Connecting["main"]>): string {
  switch (main.state) {
    case "connected":
      return `Connected to ${viaText(`${main.server}${main.location === "" ? "" : `, ${main.location}`}`, main.via)}${main.unanswered ? ", which carries nothing: try another server" : ""}.`;
    case "connecting":
      return `Connecting to ${placeOf(main)}…`;
    case "reconnecting":
      return `${placeOf(main)} does not answer. The gateway keeps trying.`;
    case "failed":
      return `Not connected: the tunnel to ${targetOf(main) ?? "the server"} could not be set up.`;
    case "disconnected":
      return "Not connected. Choose a server, or a place for the nearest server there.";
  }
}
