import type { ShownSettings } from "../../../http/settings-schema.ts";
import { change } from "../../api.ts";
import { say } from "../../language.ts";
import { Button } from "../../parts/button.tsx";
import { Form } from "../../parts/form.tsx";
import { OnDemand } from "../../parts/on-demand.tsx";

type QualitySettings = ShownSettings["quality"];

/** Whether tunnels are measured, and from when on one is slow or lossy. */
export function Quality({ of: { quality } }: { of: ShownSettings }) {
  const set = async (wanted: Partial<QualitySettings>): Promise<void> => {
    await change("PUT", "settings", { quality: wanted });
  };
  return (
    <section class="card words">
      <h2>{say("Quality")}</h2>
      <p>
        {quality.on
          ? say(
              "Each tunnel in use is sent a small query every {seconds, plural, one {# second} other {# seconds}}, to measure its latency and packet loss. You are told if it becomes slow or loses packets.",
              { seconds: quality.every_seconds },
            )
          : say("Whether a tunnel is slow or loses packets is not measured.")}
      </p>
      {quality.on && (
        <OnDemand text={say("Use other thresholds…")}>
          <Form
            of="quality"
            rows={{
              slow_ms: { label: say("Counts as slow from, in milliseconds"), value: quality.slow_ms },
              lossy_percent: { label: say("Counts as lossy from, in percent"), value: quality.lossy_percent },
            }}
            work={set}
            submit={say("Use these thresholds")}
            doing={say("Saving…")}
          />
        </OnDemand>
      )}
      <div class="card-buttons">
        <Button doing={say("Saving…")} work={() => set({ on: !quality.on })}>
          {say(quality.on ? "Do not measure" : "Measure tunnels")}
        </Button>
      </div>
    </section>
  );
}
