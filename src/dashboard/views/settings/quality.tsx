import { useState } from "preact/hooks";
import type { ShownSettings } from "../../../http/settings-schema.ts";
import { QUALITY_BOUNDS } from "../../../shared/bounds.ts";
import { change } from "../../api.ts";
import { say } from "../../language.ts";
import { Button } from "../../parts/button.tsx";
import { Field, Form } from "../../parts/form.tsx";

/** Whether tunnels are measured, and from when on one is slow or lossy. */
export function Quality({ of: { quality } }: { of: ShownSettings }) {
  const [slow, setSlow] = useState(`${quality.slow_ms}`);
  const [lossy, setLossy] = useState(`${quality.lossy_percent}`);
  const set = async (wanted: Partial<ShownSettings["quality"]>): Promise<void> => {
    await change("PUT", "settings", { quality: wanted });
  };
  const { slowMs, lossyPercent } = QUALITY_BOUNDS;
  return (
    <section class="card words">
      <h2>{say("Quality")}</h2>
      <p>
        {quality.on
          ? say(
              "Each tunnel that is used is sent a small question every {seconds, plural, one {# second} other {# seconds}}, to measure its round trip and its loss. You are told if it becomes slow or lossy.",
              { seconds: quality.every_seconds },
            )
          : say("Whether a tunnel is slow or lossy is not measured.")}
      </p>
      {quality.on && (
        <Form
          submit={say("Use these limits")}
          doing={say("Saving…")}
          work={() => set({ slow_ms: Number(slow), lossy_percent: Number(lossy) })}
        >
          <Field
            label={say("Slow from so many milliseconds on")}
            type="number"
            required
            min={slowMs.minimum}
            max={slowMs.maximum}
            value={slow}
            onValue={setSlow}
          />
          <Field
            label={say("Lossy from so many percent on")}
            type="number"
            required
            min={lossyPercent.minimum}
            max={lossyPercent.maximum}
            value={lossy}
            onValue={setLossy}
          />
        </Form>
      )}
      <div class="card-buttons">
        <Button doing={say("Saving…")} work={() => set({ on: !quality.on })}>
          {say(quality.on ? "Do not measure" : "Measure tunnels")}
        </Button>
      </div>
    </section>
  );
}
