import { useState } from "preact/hooks";
import type { Explanation } from "../../../destinations/schema.ts";
import { knownOf, useAnswer } from "../../answers.ts";
import { read } from "../../api.ts";
import { inItsWords } from "../../codes.ts";
import { targetsOf } from "../../destination.ts";
import { deviceOptions, exitName } from "../../exit.ts";
import { someOf } from "../../format.ts";
import { say } from "../../language.ts";
import { Form } from "../../parts/form.tsx";
import { Icon } from "../../parts/icon.tsx";
import { Told } from "../../parts/told.tsx";

/** Answers by which exit a device reaches a destination, and why. */
export function Why() {
  const devices = knownOf(useAnswer("devices"))?.devices ?? [];
  const rules = knownOf(useAnswer("destinations"))?.destinations ?? [];
  const [found, setFound] = useState<Explanation | null>(null);
  const targets = new Set(rules.flatMap(targetsOf));
  return (
    <section class="card why-card">
      <h2>{say("Why does it go there?")}</h2>
      <Form
        of="why"
        rows={{
          device: { label: say("Device"), options: deviceOptions(devices) },
          name: {
            label: say("Name or address"),
            hint: say("Such as www.example.com or 203.0.113.7."),
            suggestions: [...targets].map((value) => ({ value, text: "" })),
          },
        }}
        work={async (given) => {
          setFound(null);
          setFound(await read<Explanation>(`destinations/explain?${new URLSearchParams(given)}`));
        }}
        submit={say("Explain")}
        doing={say("Asking…")}
        isForAll
      />
      <div role="status">{found !== null && <Answer of={found} />}</div>
    </section>
  );
}

function Answer({ of: { device, destination, exit, open, why, advice, addresses } }: { of: Explanation }) {
  const who = device.name || device.id;
  return (
    <div class={`why-answer row tone-${open ? "protected" : "blocked"}`}>
      <Icon name={open ? "shield" : "blocked"} />
      <div>
        <p>
          <strong>
            {open
              ? say("{who} reaches {destination} through the exit {exit}.", {
                  who,
                  destination,
                  exit: exitName(exit),
                })
              : say("{who} does not reach {destination} now.", { who, destination })}
          </strong>
        </p>
        <p>
          <Told text={inItsWords(why)} />
        </p>
        {addresses.length > 0 && (
          <p class="quiet small">
            {say("Its addresses now: {addresses}.", { addresses: someOf(addresses) })}
          </p>
        )}
        {advice !== null && (
          <p class="quiet">
            <Told text={inItsWords(advice)} />
          </p>
        )}
      </div>
    </div>
  );
}
