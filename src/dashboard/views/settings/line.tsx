import { useState } from "preact/hooks";
import type { ShownSettings } from "../../../http/settings-schema.ts";
import { LINE_BOUNDS } from "../../../shared/bounds.ts";
import { type Action, useAction } from "../../action.ts";
import { change } from "../../api.ts";
import { say } from "../../language.ts";
import { Button } from "../../parts/button.tsx";
import { Field, Form } from "../../parts/form.tsx";

type Rates = ShownSettings["line"];

/** What the line to the internet carries, so that the gateway can share it among the devices. */
export function Line({ of: { line } }: { of: ShownSettings }) {
  const action = useAction();
  const set = async (wanted: Rates): Promise<void> => {
    await change("PUT", "settings", { line: wanted });
  };
  return (
    <section class="card words">
      <h2>{say("Line")}</h2>
      <p>
        {line === null
          ? say(
              "Does one device slow down all others? Enter what your line carries, less a tenth. The devices then share the line fairly, however much one of them sends.",
            )
          : say(
              "The devices share {down, number} Mbit/s down and {up, number} Mbit/s up fairly, however much one of them sends.",
              line,
            )}
      </p>
      <p class="quiet small">
        {say(
          "Each tunnel and each network at home can use the whole line; direct devices and devices away from home are left out of the sharing.",
        )}
      </p>
      <LineForm key={`${line?.down} ${line?.up}`} of={line} action={action} set={set} />
      {line !== null && (
        <div class="card-buttons">
          <Button doing={say("Saving…")} work={() => set(null)}>
            {say("Do not share the line")}
          </Button>
        </div>
      )}
    </section>
  );
}

function LineForm(props: {
  of: Rates;
  /** Its outcome outlives the form. */
  action: Action;
  set: (wanted: Rates) => Promise<void>;
}) {
  const { of: line, action, set } = props;
  const [down, setDown] = useState(`${line?.down ?? ""}`);
  const [up, setUp] = useState(`${line?.up ?? ""}`);
  const rate = {
    type: "number",
    required: true,
    min: LINE_BOUNDS.minimum,
    max: LINE_BOUNDS.maximum,
  } as const;
  return (
    <Form
      action={action}
      submit={say("Share the line")}
      doing={say("Saving…")}
      work={() => set({ down: Number(down), up: Number(up) })}
    >
      <Field
        {...rate}
        label={say("All devices together receive at most, in Mbit/s")}
        value={down}
        onValue={setDown}
      />
      <Field
        {...rate}
        label={say("All devices together send at most, in Mbit/s")}
        value={up}
        onValue={setUp}
      />
    </Form>
  );
}
