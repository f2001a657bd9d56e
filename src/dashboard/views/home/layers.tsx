import type { Check, Checks } from "../../../checks/schema.ts";
import { countOf, timeOf } from "../../format.ts";
import { Icon } from "../../parts/icon.tsx";
import { ViewLink } from "../../parts/link.tsx";
import { Pending } from "../../parts/pending.tsx";
import type { Loaded } from "../../store.ts";

const LAYERS: Readonly<Record<string, string>> = { firewall: "Firewall", routing: "Routing" };

/** The two layers of the kill switch, as the kernel has them. Either alone blocks what would leave outside a tunnel. */
export function Layers({ checks }: { checks: Loaded<Checks> }) {
  return (
    <section class="card">
      <h2>Kill switch</h2>
      {checks.state === "ready" ? <Found checks={checks.value} /> : <Pending of={checks} />}
    </section>
  );
}

function Found({ checks: { checks, checked_at } }: { checks: Checks }) {
  const others = checks.filter(({ id, result }) => LAYERS[id] === undefined && result !== "ok").length;
  return (
    <>
      <ul class="rows">
        {checks.map((check) => {
          const name = LAYERS[check.id];
          return name === undefined ? null : <Layer key={check.id} name={name} check={check} />;
        })}
      </ul>
      <p class="quiet small">
        As the kernel had it at {timeOf(checked_at)}.{" "}
        {others > 0 && (
          <ViewLink to="checks">
            {countOf(others, "other check needs", "other checks need")} attention
          </ViewLink>
        )}
      </p>
    </>
  );
}

function Layer({ name, check }: { name: string; check: Check }) {
  const isGood = check.result === "ok";
  return (
    <li class={`row tone-${isGood ? "protected" : "exposed"}`}>
      <Icon name={isGood ? "good" : "bad"} />
      <div>
        <strong>
          {name}: {isGood ? "in place" : "not in place"}
        </strong>
        <p class="quiet">{isGood ? WHAT[check.id] : check.found}</p>
        {check.advice !== null && <p>{check.advice}</p>}
      </div>
    </li>
  );
}

const WHAT: Readonly<Record<string, string>> = {
  firewall: "Packets that would leave outside a tunnel are refused.",
  routing: "There is no route that leads outside a tunnel.",
};
