import type { ShownSettings } from "../../../http/settings-schema.ts";
import { change } from "../../api.ts";
import { say } from "../../language.ts";
import { Button } from "../../parts/button.tsx";
import { Form } from "../../parts/form.tsx";
import { OnDemand } from "../../parts/on-demand.tsx";

type Rates = ShownSettings["line"];

/** What the line to the internet carries, so that the gateway can share it among the devices. */
export function Line({ of: { line } }: { of: ShownSettings }) {
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
      <OnDemand text={say("Share the line…")}>
        <Form
          of="line"
          rows={{
            down: { label: say("All devices together receive at most, in Mbit/s"), value: line?.down },
            up: { label: say("All devices together send at most, in Mbit/s"), value: line?.up },
          }}
          work={set}
          submit={say("Share the line")}
          doing={say("Saving…")}
        />
      </OnDemand>
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
