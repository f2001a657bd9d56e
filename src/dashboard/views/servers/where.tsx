import { placeOf } from "../../../shared/verdict-texts.ts";
import { sentenceFrom } from "../../../shared/words.ts";
import { inItsWords } from "../../codes.ts";
import { say } from "../../language.ts";
import { leadAgain } from "../../lead-again.ts";
import { Button } from "../../parts/button.tsx";
import { Told } from "../../parts/told.tsx";
import { connectingText, targetOf, viaText } from "../../sentence.ts";
import { type Connecting, plainly } from "./connecting.ts";

/** Where the tunnel `main` leads, or why it does not; screen readers hear its changes. */
export function Where({ connecting: { main, action } }: { connecting: Connecting }) {
  // The row that was clicked shows it too.
  const why = main?.state === "failed" && action.outcome === null ? main.error : null;
  return (
    <div class="where">
      <p role="status">
        {main === null ? "…" : lineOf(main)}
        {why !== null && (
          <>
            {" "}
            <Told text={inItsWords(sentenceFrom(why))} />
          </>
        )}
      </p>
      {main?.state === "failed" && main.wanted !== null && (
        <Button
          kind="primary"
          doing={say("Connecting to {place}…", { place: targetOf(main) ?? "" })}
          work={() => plainly(leadAgain(main))}
        >
          {say("Try again")}
        </Button>
      )}
    </div>
  );
}

function lineOf(main: NonNullable<Connecting["main"]>): string {
  const { state, server, location, via, unanswered } = main;
  const target = targetOf(main);
  switch (state) {
    case "connected":
      return say(
        unanswered
          ? "Connected to {place}, but no data gets through: try another server."
          : "Connected to {place}.",
        { place: viaText(location === "" ? server : `${server}, ${location}`, via) },
      );
    case "connecting":
      return connectingText(main);
    case "reconnecting":
      return say("{place} does not answer. The gateway keeps trying.", { place: placeOf(main) });
    case "failed":
      return target === null
        ? say("Not connected: the tunnel to the server could not be set up.")
        : say("Not connected: the tunnel to {target} could not be set up.", { target });
    case "disconnected":
      return say("Not connected. Choose a server, or a place for the nearest server there.");
  }
}
