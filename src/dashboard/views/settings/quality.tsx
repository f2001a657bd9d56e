import { useState } from "preact/hooks";
import type { ShownSettings } from "../../../http/settings-schema.ts";
import { QUALITY_BOUNDS } from "../../../shared/bounds.ts";
import { type Action, useAction } from "../../action.ts";
import { change } from "../../api.ts";
import { say } from "../../language.ts";
import { Button } from "../../parts/button.tsx";
import { Field, Form } from "../../parts/form.tsx";

type QualitySettings = ShownSettings["quality"];

/** Whether tunnels are measured, and from when on one is slow or lossy. */
export function Quality({ of: { quality } }: { of: ShownSettings }) {
  const action = useAction();
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
        // What has changed gets a new form: a field that still had the former value would set it again.
        <QualityForm
          key={`${quality.slow_ms} ${quality.lossy_percent}`}
          of={quality}
          action={action}
          set={set}
        />
      )}
      <div class="card-buttons">
        <Button doing={say("Saving…")} work={() => set({ on: !quality.on })}>
          {say(quality.on ? "Do not measure" : "Measure tunnels")}
        </Button>
      </div>
    </section>
  );
}

function QualityForm(props: {
  of: QualitySettings;
  /** Its outcome outlives the form. */
  action: Action;
  set: (wanted: Partial<QualitySettings>) => Promise<void>;
}) {
  const { of: quality, action, set } = props;
  const [slow, setSlow] = useState(`${quality.slow_ms}`);
  const [lossy, setLossy] = useState(`${quality.lossy_percent}`);
  const { slowMs, lossyPercent } = QUALITY_BOUNDS;
  return (
    <Form
      action={action}
      submit={say("Use these thresholds")}
      doing={say("Saving…")}
      work={() => set({ slow_ms: Number(slow), lossy_percent: Number(lossy) })}
    >
      <Field
        label={say("Counts as slow from, in milliseconds")}
        type="number"
        required
        min={slowMs.minimum}
        max={slowMs.maximum}
        value={slow}
        onValue={setSlow}
      />
      <Field
        label={say("Counts as lossy from, in percent")}
        type="number"
        required
        min={lossyPercent.minimum}
        max={lossyPercent.maximum}
        value={lossy}
        onValue={setLossy}
      />
    </Form>
  );
}
