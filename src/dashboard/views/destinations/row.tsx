import type { Destination } from "../../../destinations/schema.ts";
import type { DeviceList } from "../../../devices/schema.ts";
import { isOutside } from "../../../shared/exits.ts";
import { change, pathOf } from "../../api.ts";
import { inItsWords } from "../../codes.ts";
import { targetText } from "../../destination.ts";
import { say } from "../../language.ts";
import { AutosaveSelect } from "../../parts/autosave-select.tsx";
import { Button } from "../../parts/button.tsx";
import type { Question } from "../../parts/dialog.tsx";
import { Icon } from "../../parts/icon.tsx";
import { Told } from "../../parts/told.tsx";
import { useExitOptions } from "../../protection.ts";
import { type Audience, whomOf } from "./whom.ts";

interface RowProps {
  rule: Destination;
  /** Null until it is known. */
  list: DeviceList | null;
}

/** To where, for whom, by which exit, and whether that carries traffic now. */
export function Row({ rule, list }: RowProps) {
  const { id, exit, devices, note, open, warning } = rule;
  const optionsOf = useExitOptions();
  const path = pathOf("destinations", id);
  const [to, whom] = [targetText(rule), whomOf(devices, list?.devices ?? [])];
  const { whose, who } = whom;
  const exits = [...new Set([...(list?.exits ?? []), exit])];
  return (
    <li class={`destination row tone-${toneOf(rule)}`}>
      <Icon name={isOutside(exit) ? "warning" : open ? "shield" : "blocked"} />
      <div class="destination-what">
        <p>
          <strong>{to}</strong>
        </p>
        <p class="quiet small">
          {say("For {whose, select, all {all devices} other {{who}}}", { whose, who })}
          {note !== "" && ` · ${note}`}
        </p>
        {warning !== null && (
          <p class="small destination-warning">
            <Told text={inItsWords(warning)} />
          </p>
        )}
      </div>
      <div class="destination-exit">
        <AutosaveSelect
          label={say("Exit of the traffic to {to}", { to })}
          value={exit}
          options={optionsOf(exits)}
          from={rule}
          save={async (next) => void (await change("PATCH", path, { exit: next }))}
          ask={(next) => (isOutside(next) ? questionAbout(to, whom) : null)}
        />
      </div>
      <Button
        kind="danger"
        doing={say("Removing…")}
        label={say("Remove the rule for {to}", { to })}
        work={async () => void (await change("DELETE", path))}
        ask={{
          title: say("Remove this rule?"),
          text: say(
            "Traffic to {to} then takes the exit of its device again, for {whose, select, all {all devices} other {{who}}}. Connections that have another exit then are cut.",
            { whose, who, to },
          ),
          confirm: say("Remove"),
        }}
      >
        {say("Remove")}
      </Button>
    </li>
  );
}

function toneOf({ exit, open }: Destination): string {
  if (isOutside(exit)) return "partly";
  return open ? "protected" : "blocked";
}

function questionAbout(to: string, { whose, who }: Audience): Question {
  return {
    title: say("Let the traffic to {to} leave outside every tunnel?", { to }),
    text: say(
      "Your internet provider and the other side see it as they would without a VPN, for {whose, select, all {all devices} other {{who}}}. Whatever else has the same addresses leaves there too.",
      { whose, who },
    ),
    confirm: say("Let it leave directly"),
  };
}
