import type { KillSwitchLayers } from "../../../http/schema.ts";
import { inItsWords } from "../../codes.ts";
import { say } from "../../language.ts";
import { Icon } from "../../parts/icon.tsx";
import { ViewLink } from "../../parts/link.tsx";
import { Pending } from "../../parts/pending.tsx";
import { Told } from "../../parts/told.tsx";
import type { Loaded } from "../../store.ts";

type Layer = KillSwitchLayers["layers"][number];

/** The two layers of the kill switch, as the kernel has them. */
export function Layers({ killswitch }: { killswitch: Loaded<KillSwitchLayers> }) {
  return (
    <section class="card">
      <h2>{say("Kill switch")}</h2>
      {killswitch.state === "ready" ? <Found found={killswitch.value} /> : <Pending of={killswitch} />}
      <ViewLink to="checks">{say("All checks")}</ViewLink>
    </section>
  );
}

function Found({ found }: { found: KillSwitchLayers }) {
  return (
    <>
      <ul class="rows">
        {found.layers.map((layer) => (
          <Row key={layer.name} layer={layer} isWanted={found.wanted} />
        ))}
      </ul>
      {found.layers.some(({ holds }) => holds) && (
        <p class="quiet small">{say("Each of them alone blocks everything outside a tunnel.")}</p>
      )}
    </>
  );
}

/** What is missing is news only if the operator has not turned it off. */
function Row({ layer: { name, holds, parts }, isWanted }: { layer: Layer; isWanted: boolean }) {
  const { inPlace, missing, off, promise } = TEXTS[name];
  return (
    <li class={`row tone-${holds ? "protected" : "exposed"}`}>
      <Icon name={holds ? "good" : "bad"} />
      <div>
        <strong>{holds ? inPlace : isWanted ? missing : off}</strong>
        {holds && <p class="quiet">{promise}</p>}
        {parts
          .filter((part) => isWanted && !part.holds)
          .map((part) => (
            <p key={part.name}>
              <Told text={inItsWords(`${part.name}: ${part.found}`)} />
            </p>
          ))}
      </div>
    </li>
  );
}

const TEXTS: Readonly<Record<Layer["name"], Record<"inPlace" | "missing" | "off" | "promise", string>>> = {
  firewall: {
    inPlace: say("Firewall: in place"),
    missing: say("Firewall: not in place"),
    off: say("Firewall: off"),
    promise: say("The kernel refuses what would leave outside a tunnel."),
  },
  routing: {
    inPlace: say("Routing: in place"),
    missing: say("Routing: not in place"),
    off: say("Routing: off"),
    promise: say("The kernel has no route that leads outside a tunnel."),
  },
};
