import { useEffect } from "preact/hooks";
import { refresh } from "../../answers.ts";
import { change } from "../../api.ts";
import { say } from "../../language.ts";
import { Button } from "../../parts/button.tsx";
import { Icon } from "../../parts/icon.tsx";
import { Say } from "../../parts/say.tsx";
import { useNow } from "../../traffic.ts";

const MINUTES = 5;
const SECOND_MS = 1_000;
const MINUTE_SECONDS = 60;

/** Ends the blocking for some minutes, or begins it again. */
export function Pause({ until }: { until: string | null }) {
  const left = until === null ? 0 : Math.ceil((Date.parse(until) - useNow()) / SECOND_MS);
  const isPaused = left > 0;
  const isOver = until !== null && !isPaused;
  useEffect(() => {
    if (isOver) void refresh("dns");
  }, [isOver]);
  return (
    <div class="dns-pause">
      {isPaused && (
        <p>
          <Icon name="warning" />{" "}
          <Say
            message="Lists block nothing for another {time}."
            parts={{ time: <span role="timer">{clock(left)}</span> }}
          />
        </p>
      )}
      <Button
        doing={say(isPaused ? "Ending the pause…" : "Pausing…")}
        work={async () => void (await change("POST", "dns/pause", { minutes: isPaused ? 0 : MINUTES }))}
      >
        {isPaused
          ? say("Block again")
          : say("Pause for {count, plural, one {# minute} other {# minutes}}", { count: MINUTES })}
      </Button>
    </div>
  );
}

/** "4:07". */
function clock(seconds: number): string {
  return `${Math.floor(seconds / MINUTE_SECONDS)}:${String(seconds % MINUTE_SECONDS).padStart(2, "0")}`;
}
